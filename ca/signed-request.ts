import { createPublicKey, type KeyObject, randomUUID, sign, verify } from 'node:crypto';
import { join } from 'node:path';
import type {
  RequestKind,
  RequestSignature,
  RequestSigner,
  SignedRequests,
  Signer,
} from '../model/sandbox/signed-request.ts';
import { canonicalJson } from '../store/audit/canonical-json.ts';
import { ensureKey, newSigningKey, readSigningKey } from './key-file.ts';

/** Format in the signed text, so that no other signature passes for one of a request. */
const FORMAT = 'mayfly-request-1';
const KEY_FILE = 'request.key';

/** Ed25519 key that signs a process's requests to the control worker. It never leaves the process's own folder. */
export class RequestKey {
  /** Raw key of 32 bytes, base64url. */
  readonly publicKey: string;

  private constructor(private readonly key: KeyObject) {
    this.publicKey = createPublicKey(key).export({ format: 'jwk' }).x ?? '';
  }

  /**
   * Reads the key of a folder (`request.key`, 0600); creates it if missing.
   * @throws Error when others may read it, or it is not an Ed25519 key
   */
  static async open(folder: string): Promise<RequestKey> {
    const path = join(folder, KEY_FILE);
    await ensureKey(path, newSigningKey);
    return new RequestKey(await readSigningKey(path, 'request key', 'Restore it from a backup.'));
  }

  /** @param by process that signs with it */
  signer(by: Signer): RequestSigner {
    const { key, publicKey } = this;
    return {
      sign(kind, asked) {
        const signatureFields = { by, publicKey, at: new Date().toISOString(), nonce: randomUUID() };
        return {
          ...signatureFields,
          value: sign(null, signedText(kind, asked, signatureFields), key).toString('base64url'),
        };
      },
    };
  }
}

/** Reports whether the owner of the key that a signature names has signed exactly this request. */
export function isSignedBy<Kind extends RequestKind>(
  { value, ...said }: RequestSignature,
  kind: Kind,
  asked: SignedRequests[Kind],
): boolean {
  try {
    const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x: said.publicKey } });
    return verify(null, signedText(kind, asked, said), key, Buffer.from(value, 'base64url'));
  } catch {
    return false; // its public key is malformed
  }
}

function signedText<Kind extends RequestKind>(
  kind: Kind,
  asked: SignedRequests[Kind],
  { by, publicKey, at, nonce }: Omit<RequestSignature, 'value'>,
): Buffer {
  return Buffer.from(canonicalJson({ format: FORMAT, kind, asked, by, publicKey, at, nonce }));
}
