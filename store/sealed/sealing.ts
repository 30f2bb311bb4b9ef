import type { Connection, Schema } from 'mongoose';
import type { Replacement } from '../../model/fields.ts';
import { isDuplicateKey, isForbidden, withStoreErrors } from '../mongo/failure.ts';
import { encryptedFields } from '../mongo/schema.ts';
import { Cipher, type FieldLocation, isEncrypted, keyIdOf, type StoreKeys } from './seal.ts';
import { EncryptedFields, type Unreadable } from './sealed-fields.ts';

/** Ended records are encrypted as living ones, since they move between the collections unchanged. */
const ENCRYPTED_AS: Readonly<Record<string, string>> = { endedSandboxes: 'sandboxes' };

/** Most unreadable documents that one process reports. */
const REPORTED = 1_000;

/** Id of the document that records the key of a store. */
const MARK = 'key';
const MARK_AT: FieldLocation = { collection: 'layout', id: MARK, field: 'mark' };

interface KeyMark {
  _id: string;
  mark?: unknown;
}

/** Returns the id of the key that encrypts a store; null when none is recorded. */
export async function getEncryptionKeyId(connection: Connection): Promise<string | null> {
  const found = await markIn(connection);
  return isEncrypted(found?.mark) ? keyIdOf(found.mark) : null;
}

function markIn(connection: Connection): Promise<KeyMark | null> {
  return withStoreErrors('read with which key the store is sealed', () => layoutOf(connection).findOne({ _id: MARK }));
}

function layoutOf(connection: Connection) {
  return connection.collection<KeyMark>('layout');
}

/** Encrypts and decrypts stored fields. */
export class StoreEncryption {
  readonly #seal: Cipher | null;
  readonly #reported = new Set<string>();
  readonly #encrypted = new Map<string, ReadonlyMap<string, Replacement | null>>();

  /**
   * @param keys without them nothing encrypted can be read or written
   * @param report receives each unreadable document, once
   */
  constructor(
    keys: StoreKeys | null,
    private readonly report: (unreadable: Unreadable) => void = () => undefined,
  ) {
    this.#seal = keys && new Cipher(keys);
  }

  /**
   * Returns the encryption of a collection's documents. @param schema marks the encrypted fields; needed only in the
   * first call
   */
  of(collection: string, schema?: Schema): EncryptedFields {
    if (schema) this.#encrypted.set(collection, encryptedFields(schema));
    const fields = this.#encrypted.get(collection);
    if (!fields) throw new Error(`The collection ${collection} has no schema that says what is encrypted.`);
    return new EncryptedFields(this.#seal, ENCRYPTED_AS[collection] ?? collection, fields, (unreadable) =>
      this.#reportOnce(unreadable),
    );
  }

  /** Returns the paths of encrypted fields, by collection that has some. */
  encrypted(): Map<string, readonly string[]> {
    const all = [...this.#encrypted].map(([collection, fields]) => [collection, [...fields.keys()]] as const);
    return new Map(all.filter(([, fields]) => fields.length > 0));
  }

  #reportOnce(unreadable: Unreadable): void {
    if (this.#reported.has(unreadable.problem) || this.#reported.size >= REPORTED) return;
    this.#reported.add(unreadable.problem);
    this.report(unreadable);
  }

  /**
   * Checks that a store is encrypted with one of the keys.
   * @param marks records in the store that the first of them encrypts; where processes have users of their own, only
   * the control worker's may
   * @throws MayflyError payload_key_unusable
   */
  async check(connection: Connection, marks: boolean): Promise<void> {
    if (!this.#seal) return;
    const found = await markIn(connection);
    if (isEncrypted(found?.mark)) this.#seal.open(MARK_AT, found.mark);
    if (!marks || this.#seal.isCurrent(found?.mark)) return;
    const layout = layoutOf(connection);
    const mark = this.#seal.seal(MARK_AT, 'sealed');
    try {
      await withStoreErrors('say with which key the store is sealed', async () => {
        if (found) await layout.updateOne({ _id: MARK }, { $set: { mark } });
        else await layout.insertOne({ _id: MARK, mark });
      });
    } catch (error) {
      if (isDuplicateKey(error)) return this.check(connection, marks);
      if (!isForbidden(error)) throw error;
    }
  }
}
