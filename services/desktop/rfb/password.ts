import { createCipheriv, createDecipheriv } from 'node:crypto';

/** Length of a VNC password, bytes; VNC ignores the rest. */
export const PASSWORD_BYTES = 8;
/** Length of TigerVNC's password file, bytes. */
export const PASSWORD_FILE_BYTES = 2 * PASSWORD_BYTES;
/** Fixed key with which every VNC program obfuscates password files: no protection. */
const FILE_KEY = Buffer.from('e84ad660c4721ae0', 'hex');

/**
 * Returns the answer to a challenge of RFC 6143 §7.2.2: DES of its two halves. OpenSSL 3 lacks single DES; triple DES
 * with one repeated key equals it.
 */
export function challengeAnswer(password: string, challenge: Uint8Array): Buffer {
  const key = Buffer.alloc(PASSWORD_BYTES);
  key.write(password, 'latin1');
  return cipher(key.map(reverseBits)).update(challenge);
}

/** Returns TigerVNC's file of two passwords: full control, and view only. */
export function passwordFile({ control, view }: Passwords): Buffer {
  const plain = Buffer.alloc(PASSWORD_FILE_BYTES);
  plain.write(control, 0, PASSWORD_BYTES, 'latin1');
  plain.write(view, PASSWORD_BYTES, PASSWORD_BYTES, 'latin1');
  return cipher(FILE_KEY).update(plain);
}

export interface Passwords {
  control: string;
  view: string;
}

/** @param file 16 bytes */
export function passwordsOf(file: Uint8Array): Passwords {
  const plain = decipher(FILE_KEY).update(file).toString('latin1');
  const [control, view] = [plain.slice(0, PASSWORD_BYTES), plain.slice(PASSWORD_BYTES)];
  return { control: beforeNul(control), view: beforeNul(view) };
}

function beforeNul(text: string): string {
  const [first = ''] = text.split('\0');
  return first;
}

function cipher(key: Uint8Array) {
  return createCipheriv('des-ede3-ecb', tripleKey(key), null).setAutoPadding(false);
}

function decipher(key: Uint8Array) {
  return createDecipheriv('des-ede3-ecb', tripleKey(key), null).setAutoPadding(false);
}

function tripleKey(key: Uint8Array): Buffer {
  return Buffer.concat([key, key, key]);
}

/** Reverses the bits of a byte: VNC's DES reads keys in that order. */
function reverseBits(byte: number): number {
  let out = 0;
  for (let bit = 0; bit < 8; bit++) if (byte & (1 << bit)) out |= 0x80 >> bit;
  return out;
}
