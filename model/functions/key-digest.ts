import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

/** Of a key, as it is compared and shown: two keys of a function with the same are one. Hex digits. */
const LENGTH = 24;

/** A value may be somebody's name: what is not sealed has this in its place. @param key as JSON */
export function digestOfKey(key: string): string {
  return bytesToHex(sha256(utf8ToBytes(key))).slice(0, LENGTH);
}
