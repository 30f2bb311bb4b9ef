const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Decodes padded base64 (RFC 4648 §4); undefined: invalid. */
export function decodeBase64(text: string): Uint8Array | undefined {
  return text.length % 4 === 0 && BASE64.test(text) ? Uint8Array.from(Buffer.from(text, 'base64')) : undefined;
}
