import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Algorithm, Encoding } from '../../../model/webhooks/signature-scheme.ts';

export function hmacOf(algorithm: Algorithm, key: Uint8Array | string, ...parts: (Uint8Array | string)[]): Buffer {
  const hmac = createHmac(algorithm, key);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/** In constant time for two of one length. */
export function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

/**
 * Which of the keys the first signature is of that is of any; null when none is. Each signature is compared with each key,
 * also after one matched: how long that takes tells nothing of which.
 * @param keys null where there is none that can be used
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
 * Bytes from their text; null when it is not exactly that, where Node's own decoder leaves out what it does not know. Digits
 * of hex may be of either case, and the padding of base64 may be missing.
 */
export function decode(text: string, encoding: Encoding): Buffer | null {
  if (encoding === 'hex') return HEX.test(text) ? Buffer.from(text, 'hex') : null;
  const bytes = Buffer.from(text, encoding);
  return unpadded(bytes.toString(encoding)) === unpadded(text) ? bytes : null;
}

function unpadded(text: string): string {
  return text.replace(/={1,2}$/, '');
}
