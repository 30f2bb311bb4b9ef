/**
 * Characters not allowed in a header (HTTP protocol binding §3.1.3.2); spaces and quotes are allowed as before 1.0.2.
 */
const UNPRINTABLE = /[^\x20-\x7e]/;
const QUOTED = /^"((?:[^"\\]|\\.)*)"$/;
const ENCODED = /(?:%[0-9A-Fa-f]{2})+/g;

/**
 * Decodes a `ce-` header (§3.1.3.2): removes quotes, then decodes each `%XX` once. Keeps a `%` before anything else,
 * since some senders do not encode it. Undefined: not ASCII, unclosed quotes, or encoded bytes that are not UTF-8.
 */
export function decodeHeaderValue(value: string): string | undefined {
  if (UNPRINTABLE.test(value)) return undefined;
  const unquoted = value.startsWith('"') ? QUOTED.exec(value)?.[1]?.replace(/\\(.)/g, '$1') : value;
  try {
    return unquoted?.replace(ENCODED, (encoded) => decodeURIComponent(encoded));
  } catch {
    return undefined; // not UTF-8
  }
}
