/** Greatest first byte of a character (RFC 3629 §3). */
const LAST_LEAD = 0xf4;

/** Counts the trailing bytes of an incomplete character: 0 to 3. */
export function countIncompleteBytes(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte > LAST_LEAD) return 0;
    if (byte >= 0b1100_0000) return back < lengthOf(byte) ? back : 0;
    if (byte < 0b1000_0000) return 0;
  }
  return 0;
}

function lengthOf(first: number): number {
  if (first >= 0b1111_0000) return 4;
  return first >= 0b1110_0000 ? 3 : 2;
}

/** Replaces control characters and lone surrogates, so that untrusted text is safe to print. */
export function replaceControls(text: string): string {
  return text.replace(/[\p{Cc}\p{Cs}]/gu, '\u{fffd}');
}

const encoder = new TextEncoder();

export function utf8Length(text: string): number {
  return encoder.encode(text).length;
}
