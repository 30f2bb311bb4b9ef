import type { Connection, Model } from 'mongoose';
import { reaching } from '../mongo/failure.ts';
import { NAME, NUMBER, strictSchema } from '../mongo/schema.ts';

interface SerialDocument {
  _id: string;
  value: number;
}

/** Numbers that are never given twice: serials of SSH certificates. */
export class Serials {
  readonly #model: Model<SerialDocument>;

  constructor(connection: Connection) {
    this.#model = connection.model<SerialDocument>('Serial', strictSchema({ _id: NAME, value: NUMBER }), 'serials');
  }

  /** The next number, from 1; one atomic `$inc`, so a number taken by a process that then died stays unused. */
  async next(): Promise<number> {
    const counter = await reaching('take a serial number', () =>
      this.#model
        .findOneAndUpdate({ _id: 'certificate' }, { $inc: { value: 1 } }, { upsert: true, returnDocument: 'after' })
        .lean<SerialDocument>(),
    );
    return counter.value;
  }
}
