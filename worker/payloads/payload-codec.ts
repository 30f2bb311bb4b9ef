import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import { MayflyError } from '../../model/errors.ts';
import { isReadable } from '../../model/sagas/readable.ts';
import type { PayloadKey, PayloadKeys } from './payload-keys.ts';

/** Names of Temporal's encryption samples, which other tools recognize. */
const ENCODING = 'encoding';
const ENCRYPTED = Buffer.from('binary/encrypted');
const KEY_ID = 'encryption-key-id';

const CIPHER = 'aes-256-gcm';
/** NIST SP 800-38D §8.2.2: random, for at most 2³² payloads per key. Bytes. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts arguments, results, signals, heartbeats, memos and failures in Temporal: nonce, ciphertext of the whole
 * payload, tag. Lines for people stay readable; any other cleartext is refused.
 */
export class EncryptedPayloads implements PayloadCodec {
  readonly #first: PayloadKey;
  readonly #keys: ReadonlyMap<string, Uint8Array>;

  constructor(keys: PayloadKeys) {
    this.#first = keys[0];
    this.#keys = new Map(keys.map(({ id, key }) => [id, key]));
  }

  async encode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => (isReadable(payload.data) ? payload : this.#encrypt(payload)));
  }

  /** @throws MayflyError payload_key_unusable when a payload is not encrypted, its key is unknown, or it was changed */
  async decode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => (isEncrypted(payload) ? this.#decrypt(payload) : requireReadable(payload)));
  }

  #encrypt(payload: Payload): Payload {
    const { id, key } = this.#first;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(additionalData(id));
    const plain = proto.temporal.api.common.v1.Payload.encode(payload).finish();
    const data = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    return { metadata: { [ENCODING]: ENCRYPTED, [KEY_ID]: Buffer.from(id) }, data };
  }

  #decrypt({ metadata, data }: Payload): Payload {
    const id = Buffer.from(metadata?.[KEY_ID] ?? []).toString();
    const key = this.#keys.get(id);
    if (!key)
      throw unreadable(
        `a payload is encrypted with the key ${id}, and this process has ${[...this.#keys.keys()].join()}`,
      );
    const bytes = data ?? new Uint8Array();
    try {
      const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAAD(additionalData(id));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      const plain = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
      return proto.temporal.api.common.v1.Payload.decode(plain);
    } catch (cause) {
      throw unreadable(`a payload that says it is encrypted with the key ${id} is not, or was changed`, cause);
    }
  }
}

/** Reports whether a payload is marked as encrypted: Temporal's own (markers, search attributes, headers) are not. */
export function isEncrypted({ metadata }: Payload): boolean {
  const encoding = metadata?.[ENCODING];
  return encoding !== undefined && encoding !== null && ENCRYPTED.equals(encoding);
}

function requireReadable(payload: Payload): Payload {
  if (isReadable(payload.data)) return payload;
  throw unreadable('a payload is not encrypted: it was sent to Temporal past Mayfly');
}

/** Binds a ciphertext to its use in Temporal and to its key. */
function additionalData(keyId: string): Buffer {
  return Buffer.from(`mayfly payload\n${keyId}`);
}

function unreadable(why: string, cause?: unknown): MayflyError {
  return new MayflyError('payload_key_unusable', `Temporal cannot be understood: ${why}.`, { cause });
}
