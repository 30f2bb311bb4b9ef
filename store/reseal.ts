import type { Connection } from 'mongoose';
import { MayflyError } from '../model/errors.ts';
import { createRepositories } from './connect.ts';
import { withStoreErrors } from './mongo/failure.ts';
import { openConnection } from './mongo/open.ts';
import { documentsOf, type StoredDocument } from './sealed/scan.ts';
import type { StoreKeys } from './sealed/seal.ts';
import { StoreEncryption } from './sealed/sealing.ts';

/** Results of a re-encryption, in documents. */
export interface ReencryptionResult {
  sealed: number;
  /** Documents left as they were, with the reason: their key is missing here, or they were changed. */
  unreadable: { collection: string; id: string; why: string }[];
}

/**
 * Re-encrypts with the first key every field that another key encrypts. It may be interrupted, repeated, and run during
 * normal operation: a concurrent write stays as written.
 * @throws MayflyError store_unavailable; payload_key_unusable when the store is encrypted with a key that is not among
 * these
 */
export async function reencrypt(uri: string, keys: StoreKeys): Promise<ReencryptionResult> {
  const connection = await openConnection(uri);
  try {
    const sealing = new StoreEncryption(keys);
    await sealing.check(connection, false);
    const all: ReencryptionResult = { sealed: 0, unreadable: [] };
    createRepositories(connection, sealing, null);
    for (const collection of sealing.encrypted().keys()) {
      for await (const document of documentsOf(connection, collection)) {
        try {
          all.sealed += await reencryptDocument(connection, sealing, collection, document);
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

/** @returns 1 when re-encrypted, 0 when already current or changed concurrently */
async function reencryptDocument(
  connection: Connection,
  sealing: StoreEncryption,
  name: string,
  document: StoredDocument,
): Promise<number> {
  const change = sealing.of(name).resealed(document);
  if (!change) return 0;
  const as = { _id: document._id, ...change.seen };
  const { modifiedCount } = await withStoreErrors('seal what is stored', () =>
    connection.collection<StoredDocument>(name).updateOne(as, { $set: change.set }),
  );
  return modifiedCount;
}

function isUnreadable(error: unknown): error is MayflyError {
  return error instanceof MayflyError && (error.code === 'payload_key_unusable' || error.code === 'record_damaged');
}
