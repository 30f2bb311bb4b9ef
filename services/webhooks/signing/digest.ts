import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Algorithm, Encoding } from '../../../model/webhooks/signature-scheme.ts';

export function hmacOf(algorithm: Algorithm, key: Uint8Array | string, ...parts: (Uint8Array | string)[]): Buffer {
  const hmac = createHmac(algorithm, key);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/** Compares in constant time for equal lengths. */
export function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

/**
 * Returns the index of the key that the first matching signature is of; null for no match. Compares every signature
 * with every key, so that the time reveals nothing.
 * @param keys null for an unusable one
 */
export function firstMatch<Signature, Key>(
  signatures: readonly Signature[],
  keys: readonly (Key | null)[],
  matches: (signature: Signature, key: Key) => boolean,
): number | null {
  let first: number | null = null;
  for (const signature of signatures) {
    for (const [index, key] of keys.entries()) {
      if (key !== null && matches(signature, key)) first ??= index;
    }
  }
  return first;
}

const HEX = /^(?:[0-9a-f]{2})*$/i;

/**
 * Decodes strictly; null for invalid text, which Node's decoder would skip. Hex may be of either case, and base64
 * padding may be missing.
 */
export function decode(text: string, encoding: Encoding): Buffer | null {
  if (encoding === 'hex') return HEX.test(text) ? Buffer.from(text, 'hex') : null;
  const bytes = Buffer.from(text, encoding);
  return stripPadding(bytes.toString(encoding)) === stripPadding(text) ? bytes : null;
}

function stripPadding(text: string): string {
  return text.replace(/={1,2}$/, '');
}
