import { MayflyError } from '../model/errors.ts';
import { layoutOf } from './layout.ts';
import { openConnection } from './mongo/open.ts';
import { keyOf } from './sealed/sealing.ts';

/** A store as it answers. */
export interface StoreLook {
  layout: 'this' | 'other' | 'none';
  /** The key with which it is sealed, by its id; null when nobody has said so. */
  sealedWith: string | null;
  /** Why a write would be refused; null when it would not. */
  readOnly: string | null;
  /** Of a round trip. Milliseconds. */
  answersInMs: number;
  /** How far its clock is ahead of ours, negative when behind; null when it does not say. Milliseconds. */
  aheadMs: number | null;
}

/**
 * Inspects a store without creating its indexes, as every other connection does.
 * @throws MayflyError store_unavailable
 */
export async function lookAtStore(uri: string): Promise<StoreLook> {
  const connection = await openConnection(uri);
  try {
    const { db } = connection;
    if (!db) throw new MayflyError('store_unavailable', 'The store names no database.');
    const began = Date.now();
    const hello = await db.command({ hello: 1 });
    const answersInMs = Date.now() - began;
    const { localTime, readOnly, isWritablePrimary } = hello;
    const isReadOnly = readOnly === true || isWritablePrimary === false;
    const aheadMs = localTime instanceof Date ? localTime.getTime() - (began + answersInMs / 2) : null;
    return {
      layout: await layoutOf(connection),
      sealedWith: await keyOf(connection),
      readOnly: isReadOnly ? 'it is no primary, or was started read-only' : await refusalOf(connection),
      answersInMs,
      aheadMs,
    };
  } finally {
    await connection.close();
  }
}

/** What a write is refused with that would change nothing: rights are asked for before it is looked whether there is anything. */
async function refusalOf({ db }: Awaited<ReturnType<typeof openConnection>>): Promise<string | null> {
  try {
    await db
      ?.collection<{ _id: string }>('hosts') // that all processes may write (deploy/mongodb/rights.json)
      .updateOne({ _id: 'nothing-has-this-id' }, { $set: { looked: true } });
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
