export const REDACTED = '[redacted]';

/** Names whose values are secrets, wherever they occur. */
const SECRET_NAME = /passw(?:or)?d|passphrase|secret|token|authorization|credential|api[-_]?key$|private[-_]?key/i;

/**
 * Secrets that can be told by their looks, and what is kept of them. The text can be a hostile guest's, so nothing
 * unbounded may be tried from every character of it.
 */
const SECRET_TEXT: readonly [pattern: RegExp, kept: string][] = [
  [/-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|$)/g, REDACTED],
  [/\b(Bearer|Basic)\s+[\w.~+/-]{8,}=*/gi, `$1 ${REDACTED}`],
  [/((?:^|\s)(?:-u|--user)[\s=]*["']?[^\s:"']{1,128}):[^\s"']+/g, `$1:${REDACTED}`],
  [/(\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s/:@]{1,128}):[^\s/@]{1,1024}@/gi, `$1:${REDACTED}@`],
  [/\bmfk_[0-9a-f]{12}_[\w-]{43}/g, REDACTED],
  [/((?:passw(?:or)?d|passphrase|secret|token|api[-_]?key)["']?\s*[=:]\s*["']?)[^\s"'&,;]+/gi, `$1${REDACTED}`],
];

/**
 * A copy of `value` without the secrets that can be recognised: by the name of their field, or by their looks within
 * a string. What cannot be recognised stays, so callers still must not hand over secrets.
 */
export function redact(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map(redact);
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array || value instanceof Date) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      redactText(name),
      SECRET_NAME.test(name) && member !== null ? REDACTED : redact(member),
    ]),
  );
}

function redactText(text: string): string {
  return SECRET_TEXT.reduce((kept, [pattern, replacement]) => kept.replace(pattern, replacement), text);
}
