import type { Connection } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { reaching } from '../mongo/failure.ts';
import { openConnection } from '../mongo/open.ts';
import type { StoreKeys } from './seal.ts';
import { SEALED_COLLECTIONS } from './sealed-fields.ts';
import { Sealing } from './sealing.ts';

type Stored = Record<string, unknown> & { _id: string };

/** What came of it, in documents. */
export interface Resealed {
  sealed: number;
  /** Those that stay as they are, with why: their key is not here, or they were changed. */
  unreadable: { collection: string; id: string; why: string }[];
}

/** Read so many at a time: chunks of output have 64 KiB each. */
const AT_ONCE = 16;

/**
 * Seals what is in the clear, or sealed with another key than the first, with the first. It may be cut short and begun again, and
 * run beside everything else: what somebody has written meanwhile is left as they wrote it.
 * @throws MayflyError store_unavailable; payload_key_unusable when the store is sealed with a key that is not among these
 */
export async function reseal(uri: string, keys: StoreKeys): Promise<Resealed> {
  const connection = await openConnection(uri);
  try {
    const sealing = new Sealing(keys);
    await sealing.check(connection, false);
    const all: Resealed = { sealed: 0, unreadable: [] };
    for (const collection of [...SEALED_COLLECTIONS, 'endedSandboxes']) {
      for await (const document of documentsOf(connection, collection)) {
        try {
          all.sealed += await resealOne(connection, sealing, collection, document);
        } catch (error) {
          if (!isUnreadable(error)) throw error;
          all.unreadable.push({ collection, id: document._id, why: error.message });
        }
      }
    }
    return all;
  } finally {
    await connection.close();
  }
}

/** In pages, by their ids. */
export async function* documentsOf(connection: Connection, name: string): AsyncGenerator<Stored> {
  for (let after = ''; ; ) {
    const page = await reaching('read what is to be sealed', () =>
      connection
        .collection<Stored>(name)
        .find({ _id: { $gt: after } }, { sort: { _id: 1 }, limit: AT_ONCE })
        .toArray(),
    );
    yield* page;
    const last = page.at(-1);
    if (!last || page.length < AT_ONCE) return;
    after = last._id;
  }
}

/** @returns 1 when it was sealed, 0 when that was not needed any more */
async function resealOne(connection: Connection, sealing: Sealing, name: string, document: Stored): Promise<number> {
  const change = sealing.of(name).resealed(document);
  if (!change) return 0;
  const as = { _id: document._id, ...change.seen };
  const { modifiedCount } = await reaching('seal what is stored', () =>
    connection.collection<Stored>(name).updateOne(as, { $set: change.set }),
  );
  return modifiedCount;
}

function isUnreadable(error: unknown): error is MayflyError {
  return error instanceof MayflyError && (error.code === 'payload_key_unusable' || error.code === 'record_damaged');
}
