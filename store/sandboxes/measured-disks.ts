import type { Connection } from 'mongoose';
import { isHostId } from '../../model/ids.ts';
import { NAME, NUMBER, strictPart } from '../mongo/schema.ts';
import { Repository } from '../repository/repository.ts';
import type { Sealing } from '../sealed/sealing.ts';

/** What the workspaces of one host take of its disk. */
export interface MeasuredDisk {
  hostId: string;
  /** ISO 8601. */
  measuredAt: string;
  sandboxes: { id: string; bytes: number }[];
}

/** What each host worker last measured; `_id` = host id, written by that worker only, one write for all its sandboxes. */
export class MeasuredDisks extends Repository<Omit<MeasuredDisk, 'hostId'>> {
  constructor(connection: Connection, sealing: Sealing) {
    const fields = { measuredAt: NAME, sandboxes: [strictPart({ id: NAME, bytes: NUMBER })] };
    super(connection, sealing, { collection: 'measuredDisks', noun: 'a host', fields, isId: isHostId });
  }

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
