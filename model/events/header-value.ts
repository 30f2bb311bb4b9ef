/** What a header may have (HTTP protocol binding §3.1.3.2), and the spaces and quotes of before 1.0.2. */
const UNPRINTABLE = /[^\x20-\x7e]/;
const QUOTED = /^"((?:[^"\\]|\\.)*)"$/;
const ENCODED = /(?:%[0-9A-Fa-f]{2})+/g;

/**
 * What the value of a `ce-` header stands for (§3.1.3.2): its quotes are taken off where it is quoted, then each `%XX` is decoded
 * once. A `%` before anything else stays, since not all senders encode it. Undefined: it is not ASCII, its quotes do not
 * close, or it encodes no UTF-8.
 */
export function decodeHeaderValue(value: string): string | undefined {
  if (UNPRINTABLE.test(value)) return undefined;
  const unquoted = value.startsWith('"') ? QUOTED.exec(value)?.[1]?.replace(/\\(.)/g, '$1') : value;
  try {
    return unquoted?.replace(ENCODED, (encoded) => decodeURIComponent(encoded));
  } catch {
    return undefined; // no UTF-8
  }
}
