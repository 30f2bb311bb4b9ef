import { z } from 'zod';
import { instant } from '../../model/fields.ts';
import { isHostId } from '../../model/ids.ts';
import { repositoryOf } from '../repository/repository.ts';

const measuredDisk = z.object({
  measuredAt: instant,
  sandboxes: z.array(z.object({ id: z.string(), bytes: z.number() })),
});
/** Disk usage of the workspaces of one host. */
export type MeasuredDisk = z.infer<typeof measuredDisk> & { hostId: string };

/**
 * Last measurement of each host worker; `_id` = host id, written by that worker only, one write for all its sandboxes.
 */
export class MeasuredDisks extends repositoryOf({
  collection: 'measuredDisks',
  noun: 'a host',
  isId: isHostId,
  model: measuredDisk,
}) {
  /** Replaces the measurement of a host. @throws MayflyError invalid_id */
  async describe({ hostId, ...measured }: MeasuredDisk): Promise<void> {
    await this.write(this.checked(hostId), measured);
  }

  async list(): Promise<MeasuredDisk[]> {
    const found = await this.documents({});
    return found.map(({ _id, measuredAt, sandboxes }) => ({ hostId: _id, measuredAt, sandboxes }));
  }
}
