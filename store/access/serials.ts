import type { Connection } from 'mongoose';
import { NUMBER } from '../mongo/schema.ts';
import { Repository } from '../repository/repository.ts';
import type { Sealing } from '../sealed/sealing.ts';

/** Numbers that are never given twice: serials of SSH certificates. */
export class Serials extends Repository<{ value: number }> {
  constructor(connection: Connection, sealing: Sealing) {
    super(connection, sealing, { collection: 'serials', noun: 'a counter', fields: { value: NUMBER } });
  }

  /** The next number, from 1; one atomic `$inc`, so a number taken by a process that then died stays unused. */
  async next(): Promise<number> {
    const options = { upsert: true, returnDocument: 'after' } as const;
    const counter = await this.model.findOneAndUpdate({ _id: 'certificate' }, { $inc: { value: 1 } }, options).lean();
    return counter.value;
  }
}
