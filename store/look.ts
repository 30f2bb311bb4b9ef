import { MayflyError } from '../model/errors.ts';
import { getIndexVersion } from './layout.ts';
import { openConnection } from './mongo/open.ts';
import { getEncryptionKeyId } from './sealed/sealing.ts';

/** Results of inspecting a store. */
export interface StoreInspection {
  layout: 'this' | 'other' | 'none';
  /** Id of the key that encrypts the store; null when none is recorded. */
  sealedWith: string | null;
  /** Reason why a write would be refused; null when writes work. */
  readOnly: string | null;
  /** Time of a round trip, ms. */
  answersInMs: number;
  /** Offset of the store's clock from ours, ms: positive when ahead; null when unknown. */
  aheadMs: number | null;
}

/** Inspects a store; unlike every other connection, it creates no indexes. @throws MayflyError store_unavailable */
export async function inspectStore(uri: string): Promise<StoreInspection> {
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
      layout: await getIndexVersion(connection),
      sealedWith: await getEncryptionKeyId(connection),
      readOnly: isReadOnly ? 'it is no primary, or was started read-only' : await findWriteRefusal(connection),
      answersInMs,
      aheadMs,
    };
  } finally {
    await connection.close();
  }
}

/**
 * Returns the reason why a write is refused, by an update that matches nothing: rights are checked before documents.
 */
async function findWriteRefusal({ db }: Awaited<ReturnType<typeof openConnection>>): Promise<string | null> {
  try {
    await db
      ?.collection<{ _id: string }>('hosts') // writable by all processes (deploy/mongodb/rights.json)
      .updateOne({ _id: 'nothing-has-this-id' }, { $set: { looked: true } });
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
