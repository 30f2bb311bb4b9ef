/**
 * Returns JSON text that is the same for equal values (RFC 8785): keys sorted by UTF-16 code units, no white space,
 * numbers and strings as ECMAScript writes them. Values outside JSON are converted: bytes to `{"base64": …}`, a bigint
 * or a number that is not finite to its decimal text. A lone surrogate is escaped.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value))) return `"${value}"`;
  if (value instanceof Uint8Array) return canonicalJson({ base64: Buffer.from(value).toString('base64') });
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
  if (value instanceof Date) return JSON.stringify(value.toISOString());
  if (typeof value === 'object' && value !== null) return canonicalObject(value);
  return JSON.stringify(value) ?? 'null';
}

function canonicalObject(value: object): string {
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined && typeof member !== 'function' && typeof member !== 'symbol')
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}
