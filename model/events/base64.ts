const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const CODES = new TextEncoder().encode(ALPHABET);
const PADDING = 0x3d;

/** The base64 text (RFC 4648 §4, padded) as ASCII. */
export function encodeBase64(bytes: Uint8Array): Uint8Array {
  const text = new Uint8Array(Math.ceil(bytes.length / 3) * 4).fill(PADDING);
  for (let from = 0, to = 0; from < bytes.length; from += 3, to += 4) {
    const count = Math.min(3, bytes.length - from);
    const bits = ((bytes[from] ?? 0) << 16) | ((bytes[from + 1] ?? 0) << 8) | (bytes[from + 2] ?? 0);
    for (let digit = 0; digit <= count; digit++) text[to + digit] = CODES[(bits >> (18 - 6 * digit)) & 63] ?? PADDING;
  }
  return text;
}

/** Undefined: the text is not base64 (RFC 4648 §4) with its padding. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const digits = text.replace(/={1,2}$/, '');
  if (text.length % 4 !== 0 || /[^A-Za-z0-9+/]/.test(digits)) return undefined;
  const bytes = new Uint8Array(Math.floor((digits.length * 3) / 4));
  let bits = 0;
  let held = 0;
  let to = 0;
  for (const code of new TextEncoder().encode(digits)) {
    bits = ((bits << 6) | digitValue(code)) & 0xffff;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes[to++] = (bits >> held) & 0xff;
  }
  return bytes;
}

function digitValue(code: number): number {
  if (code >= 0x61) return code - 0x61 + 26;
  if (code >= 0x41) return code - 0x41;
  if (code >= 0x30) return code - 0x30 + 52;
  return code === 0x2b ? 62 : 63;
}
