import type { Connection, Model } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isHostId } from '../../model/ids.ts';
import { reaching } from '../mongo/failure.ts';
import { NAME, NUMBER, strictPart, strictSchema } from '../mongo/schema.ts';

/** What the workspaces of one host take of its disk. */
export interface MeasuredDisk {
  hostId: string;
  /** ISO 8601. */
  measuredAt: string;
  sandboxes: { id: string; bytes: number }[];
}

type MeasuredDocument = Omit<MeasuredDisk, 'hostId'> & { _id: string };

/** What each host worker last measured; `_id` = host id, written by that worker only, one write for all its sandboxes. */
export class MeasuredDisks {
  readonly #model: Model<MeasuredDocument>;

  constructor(connection: Connection) {
    const sandbox = strictPart({ id: NAME, bytes: NUMBER });
    const schema = strictSchema<MeasuredDocument>({ _id: NAME, measuredAt: NAME, sandboxes: [sandbox] });
    this.#model = connection.model<MeasuredDocument>('MeasuredDisk', schema, 'measuredDisks');
  }

  /** Replaces what is known of the host's. @throws MayflyError invalid_id */
  async describe({ hostId, measuredAt, sandboxes }: MeasuredDisk): Promise<void> {
    if (!isHostId(hostId)) throw new MayflyError('invalid_id', 'That is not a host id.');
    await reaching('say what sandboxes take of a disk', () =>
      this.#model.updateOne(
        { _id: hostId },
        { $set: { measuredAt, sandboxes } },
        { upsert: true, runValidators: true },
      ),
    );
  }

  /** Of all hosts. */
  async list(): Promise<MeasuredDisk[]> {
    const found = await reaching('read what sandboxes take of disks', () =>
      this.#model.find().lean<MeasuredDocument[]>(),
    );
    return found.map(({ _id, measuredAt, sandboxes }) => ({
      hostId: _id,
      measuredAt,
      sandboxes: sandboxes.map(({ id, bytes }) => ({ id, bytes })),
    }));
  }
}
