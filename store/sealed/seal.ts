import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import mongoose from 'mongoose';
import { MayflyError } from '../../model/errors.ts';

const { Binary, BSON, DBRef } = mongoose.mongo;
/** Encrypted value as stored. */
type Sealed = InstanceType<typeof Binary>;

/** Key of the installation: 32 bytes, and an id of 16 hex digits that each encrypted value names. */
export interface StoreKey {
  id: string;
  key: Uint8Array;
}

/** Keys: the first encrypts, all decrypt. */
export type StoreKeys = readonly [StoreKey, ...StoreKey[]];

/** Location of a value, outside of which it cannot be decrypted. */
export interface FieldLocation {
  collection: string;
  id: string;
  field: string;
}

/** Subtype of BSON's binary for user-defined data (bsonspec.org); unencrypted values have another subtype or type. */
const SUBTYPE = 0x80;
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const KEY_ID_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = KEY_ID_BYTES + NONCE_BYTES;

/**
 * Encrypts values for the store: id of the key, nonce, ciphertext of the value as BSON, tag. Each document has a key of its
 * own, derived from the installation's, so that random nonces suffice for any number of writes (NIST SP 800-38D §8.3
 * allows 2³² a key), and collection, document and field are authenticated with each value.
 */
export class Cipher {
  readonly #first: StoreKey;
  readonly #keys: ReadonlyMap<string, Uint8Array>;
  #last: { key: Uint8Array; document: string; derived: Buffer } | undefined;

  constructor(keys: StoreKeys) {
    this.#first = keys[0];
    this.#keys = new Map(keys.map(({ id, key }) => [id, storeKey(key)]));
  }

  seal(place: FieldLocation, value: unknown): Sealed {
    const { id } = this.#first;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#keyOf(id, place), nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(additionalData(id, place));
    const ciphertext = [cipher.update(BSON.serialize({ value })), cipher.final()];
    return new Binary(Buffer.concat([Buffer.from(id, 'hex'), nonce, ...ciphertext, cipher.getAuthTag()]), SUBTYPE);
  }

  /**
   * Decrypts a stored value.
   * @throws MayflyError payload_key_unusable when its key is not among ours; record_damaged when it is not encrypted, was
   *   changed, or stood elsewhere
   */
  open(place: FieldLocation, sealed: unknown): unknown {
    if (!isEncrypted(sealed)) throw damagedError(place, 'is not encrypted');
    const bytes = sealed.buffer.subarray(0, sealed.position);
    const id = keyIdOf(sealed);
    const key = this.#keyOf(id, place);
    try {
      const nonce = bytes.subarray(KEY_ID_BYTES, HEADER_BYTES);
      const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(additionalData(id, place));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      const plain = Buffer.concat([decipher.update(bytes.subarray(HEADER_BYTES, -TAG_BYTES)), decipher.final()]);
      const { value } = BSON.deserialize(plain);
      return plain.includes('$ref\0') ? withoutReferences(value) : value;
    } catch (cause) {
      throw damagedError(place, 'was changed, or written elsewhere', cause);
    }
  }

  /** Reports whether a value is encrypted with the key that encrypts now. */
  isCurrent(stored: unknown): boolean {
    return isEncrypted(stored) && keyIdOf(stored) === this.#first.id;
  }

  /** Caches the derived key for the fields of one document, which follow one another. */
  #deriveKey(key: Uint8Array, document: string): Buffer {
    if (this.#last?.key !== key || this.#last.document !== document) {
      this.#last = { key, document, derived: createHmac('sha256', key).update(document).digest() };
    }
    return this.#last.derived;
  }

  #keyOf(id: string, { collection, id: document }: FieldLocation): Buffer {
    const key = this.#keys.get(id);
    if (key) return this.#deriveKey(key, `${collection}\n${document}`);
    const ours = [...this.#keys.keys()].join();
    const why = `${document} in the collection \`${collection}\` is encrypted with the key ${id}, and this process has ${ours}`;
    throw new MayflyError('payload_key_unusable', `The store cannot be read: ${why}.`);
  }
}

/** Reports whether a value is encrypted, with any key. */
export function isEncrypted(stored: unknown): stored is Sealed {
  return stored instanceof Binary && stored.sub_type === SUBTYPE;
}

export function keyIdOf(sealed: Sealed): string {
  return Buffer.from(sealed.buffer.subarray(0, KEY_ID_BYTES)).toString('hex');
}

/**
 * Restores objects that BSON takes for references of MongoDB, such as a JSON Schema with `$id` and `$ref`. It also splits a `$ref`
 * with one dot in two.
 */
function withoutReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutReferences);
  if (value instanceof DBRef) {
    const { collection, oid, db, fields } = value;
    return withoutReferences({ $ref: db === undefined ? collection : `${db}.${collection}`, $id: oid, ...fields });
  }
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutReferences(one)]));
}

function damagedError({ collection, id, field }: FieldLocation, why: string, cause?: unknown): MayflyError {
  const what = `\`${field}\` of ${id} in the collection \`${collection}\` ${why}`;
  return new MayflyError('record_damaged', `The store cannot be understood: ${what}.`, { cause });
}

/** Derives the store's key (RFC 5869), which reveals nothing of the one that encrypts for Temporal. */
function storeKey(key: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', key, '', 'mayfly store', KEY_BYTES));
}

function additionalData(keyId: string, { collection, id, field }: FieldLocation): Buffer {
  return Buffer.from(JSON.stringify(['mayfly store', keyId, collection, id, field]));
}
