import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import {
  encodePreAuth,
  PAYLOAD_TYPE,
  PREDICATE_TYPE,
  STATEMENT_TYPE,
  type Statement,
} from '../../../model/receipts/in-toto.ts';
import type { Receipt } from '../http/openapi.ts';

/** Receipt with a valid signature of one of the keys. */
export interface VerifiedReceipt {
  statement: Statement;
  /** Id of the key that signed it. */
  keyid: string;
}

/** Reason why a receipt is not valid. */
export class ReceiptError extends Error {
  override readonly name = 'ReceiptError';
}

/**
 * Verifies the signature of a receipt, offline.
 * @param publicKeys PEM, of trusted signers; a key that came with the receipt is not trusted
 * @throws ReceiptError
 */
export function verifyReceipt(receipt: unknown, publicKeys: readonly string[]): VerifiedReceipt {
  const { payloadType, bytes, keyid } = verifyEnvelope(receipt, publicKeys);
  return { statement: statementOf(payloadType, bytes), keyid };
}

/** Verifies the signature of a DSSE envelope, as {@link verifyReceipt}. @throws ReceiptError */
export function verifyEnvelope(
  envelope: unknown,
  publicKeys: readonly string[],
): { payloadType: string; bytes: Uint8Array; keyid: string } {
  const { payload, payloadType, signatures } = envelopeOf(envelope);
  const bytes = fromBase64(payload, 'the payload');
  const signed = encodePreAuth(payloadType, bytes);
  const keys = new Map(publicKeys.map(keyOf).map((key) => [keyIdOf(key), key]));
  for (const { keyid, sig } of signatures) {
    const key = keys.get(keyid);
    if (!key) continue;
    if (verify(null, signed, key, fromBase64(sig, 'the signature'))) return { payloadType, bytes, keyid };
    throw new ReceiptError('the signature does not hold: it was made of something else than what the receipt says');
  }
  const named = signatures.map(({ keyid }) => keyid).join(', ');
  throw new ReceiptError(`it is signed by ${named}, and not by ${[...keys.keys()].join(', ')}`);
}

/** Returns the SHA-256 of a public key as SubjectPublicKeyInfo in DER, hex. */
function keyIdOf(key: KeyObject): string {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}

function keyOf(pem: string): KeyObject {
  try {
    const key = createPublicKey(pem);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // thrown below
  }
  throw new ReceiptError('what was given as a key is no Ed25519 public key in PEM');
}

function envelopeOf(receipt: unknown): Receipt {
  const { payload, payloadType, signatures } = (receipt ?? {}) as Partial<Record<keyof Receipt, unknown>>;
  const list: unknown[] = Array.isArray(signatures) ? signatures : [];
  const known = list.map((each) => {
    const { keyid, sig } = (each ?? {}) as { keyid?: unknown; sig?: unknown };
    return { keyid: typeof keyid === 'string' ? keyid : '', sig: typeof sig === 'string' ? sig : '' };
  });
  if (typeof payload === 'string' && typeof payloadType === 'string' && known.length > 0) {
    return { payload, payloadType, signatures: known };
  }
  throw new ReceiptError('it is no DSSE envelope');
}

function statementOf(payloadType: string, bytes: Uint8Array): Statement {
  if (payloadType !== PAYLOAD_TYPE) throw new ReceiptError(`it is signed, and is no in-toto statement: ${payloadType}`);
  const statement = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as Statement;
  if (statement._type === STATEMENT_TYPE && statement.predicateType === PREDICATE_TYPE) return statement;
  throw new ReceiptError(`it is signed, and is no receipt: ${statement.predicateType}`);
}

function fromBase64(text: string, what: string): Uint8Array {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') === text) return bytes; // rejects base64 that is not canonical
  throw new ReceiptError(`${what} is not in base64`);
}
