/**
 * What a JSON Pointer (RFC 6901) points to in a value; undefined: nothing is there.
 * @param pointer well-formed
 */
export function valueAt(value: unknown, pointer: string): unknown {
  let at: unknown = value;
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}
