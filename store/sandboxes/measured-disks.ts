import { z } from 'zod';
import { instant } from '../../model/fields.ts';
import { isHostId } from '../../model/ids.ts';
import { repositoryOf } from '../repository/repository.ts';

const measuredDisk = z.object({
  measuredAt: instant,
  sandboxes: z.array(z.object({ id: z.string(), bytes: z.number() })),
});
/** What the workspaces of one host take of its disk. */
export type MeasuredDisk = z.infer<typeof measuredDisk> & { hostId: string };

/** What each host worker last measured; `_id` = host id, written by that worker only, one write for all its sandboxes. */
export class MeasuredDisks extends repositoryOf({
  collection: 'measuredDisks',
  noun: 'a host',
  isId: isHostId,
  model: measuredDisk,
}) {
  /** Replaces what is known of the host's. @throws MayflyError invalid_id */
  async describe({ hostId, ...measured }: MeasuredDisk): Promise<void> {
    await this.write(this.checked(hostId), measured);
  }

  /** Of all hosts. */
  async list(): Promise<MeasuredDisk[]> {
    const found = await this.documents({});
    return found.map(({ _id, measuredAt, sandboxes }) => ({ hostId: _id, measuredAt, sandboxes }));
  }
}
