/** Bytes of both base64 alphabets. */
const BASE64 = new Uint8Array(256);
for (const each of Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_')) BASE64[each] = 1;
const PADDING = 61;

/** True for a base64 character, except padding. */
export function isBase64(byte: number | undefined): boolean {
  return byte !== undefined && BASE64[byte] === 1;
}

/** Detects the bytes after a piece of base64 that belong to it: its last character, then padding. */
export class Base64Tail {
  #left = 0;
  #isPadding = false;

  begin(): void {
    this.#left = 3;
    this.#isPadding = false;
  }

  takes(byte: number): boolean {
    if (this.#left === 0) return false;
    const isTaken = byte === PADDING || (!this.#isPadding && isBase64(byte));
    this.#isPadding = true;
    this.#left = isTaken ? this.#left - 1 : 0;
    return isTaken;
  }
}
