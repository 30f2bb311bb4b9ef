/**
 * Separator of guest paths, which are bytes without NUL, mostly but not always UTF-8. A URL has them percent-encoded
 * after `/files/` without the leading slash; `%2F` is a slash too, since no name can contain one.
 */
const SLASH = 0x2f;
/** Characters that are never encoded (RFC 3986 §2.3). */
const UNRESERVED = /[A-Za-z0-9\-._~]/;
/** Segments that WHATWG URL parsing removes from a path, also when written with `%2E`. */
const DOT_SEGMENT = /(?:^|\/)\.{1,2}(?:\/|$)/;

/** Encodes every byte that is neither unreserved nor a slash as `%XX`. */
export function percentEncode(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) {
    const char = String.fromCharCode(byte);
    text += byte === SLASH || UNRESERVED.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return text;
}

/** Decodes percent-encoded bytes; null when a `%` is not followed by two hex digits. */
export function percentDecode(text: string): Uint8Array | null {
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) return null;
  const parts = text.split(/(%[0-9A-Fa-f]{2})/);
  const bytes = parts.map((part) =>
    part.startsWith('%') ? Uint8Array.of(Number.parseInt(part.slice(1), 16)) : new TextEncoder().encode(part),
  );
  const whole = new Uint8Array(bytes.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of bytes) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * Formats an absolute path for a URL after `/files/`. With `.` or `..` segments, which URL parsers interpret, encodes
 * all slashes.
 */
export function filePathInUrl(path: Uint8Array): string {
  const text = percentEncode(path);
  return DOT_SEGMENT.test(text) ? text.replaceAll('/', '%2F') : text.replace(/^\//, '');
}
