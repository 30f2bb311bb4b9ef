import { createHash } from 'node:crypto';
import type { Connection } from 'mongoose';
import { MayflyError } from '../model/errors.ts';
import { ensureIndexes, INDEXES, UNIQUE } from './indexes.ts';
import { isForbidden, withStoreErrors } from './mongo/failure.ts';

/** Digest of the indexes: a store that holds the same one has them all. */
const INDEX_DIGEST = createHash('sha256')
  .update(JSON.stringify([INDEXES, UNIQUE]))
  .digest('hex');

/** Collection that holds the digest. */
export const LAYOUTS = 'layout';

/**
 * Creates the indexes that the store lacks. Safe to interrupt, and to run in several processes at once. Where processes have
 * users of their own, only the user of the control worker may.
 * @throws MayflyError store_unavailable
 */
export async function createIndexes(connection: Connection): Promise<void> {
  if ((await getIndexVersion(connection)) === 'this') return;
  try {
    await ensureIndexes(connection);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    throw new MayflyError(
      'store_unavailable',
      'The store lacks indexes, and the user of MONGODB_URI may not create them. Start the control worker first.',
      { cause: error },
    );
  }
  await withStoreErrors('record the layout of the store', () =>
    layoutsIn(connection).updateOne({ _id: 'layout' }, { $set: { layout: INDEX_DIGEST } }, { upsert: true }),
  );
}

/** Returns `this` for the indexes of this version, `other` for those of another, `none` before any. */
export async function getIndexVersion(connection: Connection): Promise<'this' | 'other' | 'none'> {
  const present = await withStoreErrors('read the layout of the store', () =>
    layoutsIn(connection).findOne({ _id: 'layout' }),
  );
  if (!present) return 'none';
  return present.layout === INDEX_DIGEST ? 'this' : 'other';
}

function layoutsIn(connection: Connection) {
  return connection.collection<{ _id: string; layout: string }>(LAYOUTS);
}
