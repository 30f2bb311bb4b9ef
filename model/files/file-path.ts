/**
 * A path of a guest is bytes: anything but NUL, often UTF-8, not always. In a URL it stands percent-encoded and without
 * its leading slash, after `/files/`; an encoded slash (`%2F`) is a slash too, since no name can have one.
 */
const SLASH = 0x2f;
/** RFC 3986 §2.3: never encoded. */
const UNRESERVED = /[A-Za-z0-9\-._~]/;
/** What WHATWG URL parsing takes out of a path, also when it is written with `%2E`. */
const DOT_SEGMENT = /(?:^|\/)\.{1,2}(?:\/|$)/;

/** Every byte that is not unreserved becomes `%XX`; slashes stay. */
export function percentEncode(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) {
    const char = String.fromCharCode(byte);
    text += byte === SLASH || UNRESERVED.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return text;
}

/** The bytes that a percent-encoded text stands for; null when a `%` is not followed by two hexadecimal digits. */
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
 * An absolute path as it stands in a URL after `/files/`. Parts that are `.` or `..` mean something to whoever reads a
 * URL, so then all slashes are encoded.
 */
export function filePathInUrl(path: Uint8Array): string {
  const text = percentEncode(path);
  return DOT_SEGMENT.test(text) ? text.replaceAll('/', '%2F') : text.replace(/^\//, '');
}
