import { sha256Hex } from '../digest.ts';

/** Of a key, as it is compared and shown: two keys of a function with the same are one. Hex digits. */
const LENGTH = 24;

/** A value may be somebody's name: what is not sealed has this in its place. @param key as JSON */
export function digestOfKey(key: string): string {
  return sha256Hex(key).slice(0, LENGTH);
}
