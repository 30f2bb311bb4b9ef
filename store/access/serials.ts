import { z } from 'zod';
import { repositoryOf } from '../repository/repository.ts';

const counter = z.object({ value: z.int() });

/** Unique serials of SSH certificates. */
export class Serials extends repositoryOf({ collection: 'serials', noun: 'a counter', model: counter }) {
  /** Returns the next number, from 1. One atomic `$inc`, so a number taken by a process that then died stays unused. */
  async next(): Promise<number> {
    const options = { upsert: true, returnDocument: 'after' } as const;
    const found = await this.model.findOneAndUpdate({ _id: 'certificate' }, { $inc: { value: 1 } }, options).lean();
    return found.value;
  }
}
