import { sha256Hex } from '../digest.ts';

/** Hex digits of a key's digest; equal digests count as equal keys of a function. */
const LENGTH = 24;

/** Returns the digest that replaces a key in plain text, since a key may be personal data. @param key as JSON */
export function digestKey(key: string): string {
  return sha256Hex(key).slice(0, LENGTH);
}
