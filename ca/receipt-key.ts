import { createHash, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { writeFileAtomic } from '../host/os/atomic-file.ts';
import { encodePreAuth, PAYLOAD_TYPE, type Statement } from '../model/receipts/in-toto.ts';
import type { Envelope } from '../model/receipts/receipt.ts';
import { canonicalJson } from '../store/audit/canonical-json.ts';
import { ensureKey, newSigningKey, readSigningKey } from './key-file.ts';

/** Ed25519 key that signs receipts. It is outside the store, so that a writer of the store cannot sign. */
export class ReceiptSigningKey {
  readonly keyid: string;
  /** SubjectPublicKeyInfo in PEM. */
  readonly publicKey: string;

  private constructor(private readonly key: KeyObject) {
    const own = createPublicKey(key);
    this.publicKey = own.export({ format: 'pem', type: 'spki' }).toString();
    this.keyid = keyIdOf(own);
  }

  /**
   * Reads the key of a file (PKCS #8 in PEM, 0600); creates it if missing.
   * @throws Error when others may read it, or it is not an Ed25519 key
   */
  static async open(path: string): Promise<ReceiptSigningKey> {
    await ensureKey(path, newSigningKey);
    return ReceiptSigningKey.read(path);
  }

  static async read(path: string): Promise<ReceiptSigningKey> {
    return new ReceiptSigningKey(await readSigningKey(path, 'receipt key', 'Restore it from a backup, or rotate it.'));
  }

  /** Signs a statement; the same statement gives the same envelope. */
  sign(statement: Statement): Envelope {
    return this.signPayload(PAYLOAD_TYPE, statement);
  }

  signPayload(payloadType: string, content: unknown): Envelope {
    const payload = Buffer.from(canonicalJson(content));
    const sig = sign(null, encodePreAuth(payloadType, payload), this.key).toString('base64');
    return { payloadType, payload: payload.toString('base64'), signatures: [{ keyid: this.keyid, sig }] };
  }
}

/** Replaces the signing key. Earlier receipts are still verified by the public key of the previous one. */
export async function replaceReceiptKey(path: string): Promise<ReceiptSigningKey> {
  await writeFileAtomic(path, newSigningKey(), 0o600);
  return ReceiptSigningKey.read(path);
}

function keyIdOf(key: KeyObject): string {
  return createHash('sha256')
    .update(key.export({ format: 'der', type: 'spki' }))
    .digest('hex');
}
