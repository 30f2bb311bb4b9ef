import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { decode, isEqual } from './digest.ts';

/** Key of Standard Webhooks, by the version of its signatures. */
export type StandardKey =
  | { version: 'v1'; secret: Buffer }
  | { version: 'v1a'; publicKey: KeyObject /** null: it verifies only */; privateKey: KeyObject | null };

const SECRET = 'whsec_';
const PRIVATE = 'whsk_';
const PUBLIC = 'whpk_';

const NEW_SECRET_BYTES = 32;
/** Length of a key, RFC 8032 §5.1.5. */
const ED25519_BYTES = 32;
/**
 * Key lengths in bytes; base64 behind the prefix (Standard Webhooks, "Signature scheme"). A private key is its seed and
 * public key, as with Svix.
 */
const SIZES: Readonly<Record<string, readonly [least: number, most: number]>> = {
  [SECRET]: [24, 64],
  [PRIVATE]: [2 * ED25519_BYTES, 2 * ED25519_BYTES],
  [PUBLIC]: [ED25519_BYTES, ED25519_BYTES],
};

/** Returns a new secret of 32 random bytes, for v1. */
export function newSecret(): string {
  return SECRET + randomBytes(NEW_SECRET_BYTES).toString('base64');
}

/** Returns a new Ed25519 key pair, for v1a. */
export function newKeyPair(): { secretKey: string; publicKey: string } {
  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const point = Buffer.from(x, 'base64url');
  const pair = Buffer.concat([Buffer.from(d, 'base64url'), point]);
  return { secretKey: PRIVATE + pair.toString('base64'), publicKey: PUBLIC + point.toString('base64') };
}

/** Returns the defect of a key of Standard Webhooks, as a predicate; null when it is valid. Does not quote it. */
export function standardKeyProblem(text: string): string | null {
  const [prefix, bytes] = partsOf(text);
  const size = SIZES[prefix];
  if (!size) return `does not begin with ${SECRET}, ${PRIVATE} or ${PUBLIC}`;
  const [least, most] = size;
  if (bytes === null) return `has no base64 behind ${prefix}`;
  if (bytes.length < least || bytes.length > most) {
    return `has ${bytes.length} bytes behind ${prefix}, and needs ${least === most ? least : `${least} to ${most}`}`;
  }
  return prefix === PRIVATE && !isPair(bytes) ? 'holds the public key of another private key' : null;
}

/** @throws TypeError when {@link standardKeyProblem} finds one */
export function standardKey(text: string): StandardKey {
  const problem = standardKeyProblem(text);
  const [prefix, bytes] = partsOf(text);
  if (problem !== null || bytes === null) throw new TypeError(`A key of Standard Webhooks ${problem}.`);
  if (prefix === SECRET) return { version: 'v1', secret: bytes };
  if (prefix === PUBLIC) return { version: 'v1a', publicKey: publicKeyOf(bytes), privateKey: null };
  const privateKey = privateKeyOf(bytes);
  return { version: 'v1a', publicKey: createPublicKey(privateKey), privateKey };
}

/** Returns the `whpk_` of a `whsk_`. @throws TypeError for another key */
export function standardPublicKey(secretKey: string): string {
  const { x = '' } = createPublicKey(privateKeyIn(secretKey)).export({ format: 'jwk' });
  return PUBLIC + Buffer.from(x, 'base64url').toString('base64');
}

function privateKeyIn(text: string): KeyObject {
  const key = standardKey(text);
  if (key.version === 'v1a' && key.privateKey !== null) return key.privateKey;
  throw new TypeError('That has no private key.');
}

function partsOf(text: string): [prefix: string, bytes: Buffer | null] {
  const end = text.indexOf('_') + 1;
  return [text.slice(0, end), decode(text.slice(end), 'base64')];
}

function isPair(bytes: Buffer): boolean {
  const { x = '' } = createPublicKey(privateKeyOf(bytes)).export({ format: 'jwk' });
  return isEqual(Buffer.from(x, 'base64url'), bytes.subarray(ED25519_BYTES));
}

/** Converts a pair to a key (RFC 8037 §2). */
function privateKeyOf(pair: Buffer): KeyObject {
  const d = pair.toString('base64url', 0, ED25519_BYTES);
  const x = pair.toString('base64url', ED25519_BYTES);
  return createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x }, format: 'jwk' });
}

function publicKeyOf(point: Buffer): KeyObject {
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: point.toString('base64url') }, format: 'jwk' });
}
