// @ts-check
/** @module JSON Pointers (RFC 6901). */

/** @param {string} name */
export const escaped = (name) => name.replaceAll('~', '~0').replaceAll('/', '~1');

/**
 * @param {unknown} value A JSON value that is not deep.
 * @param {(key: string, value: unknown, parent: string) => boolean} isIt `parent` is the key of the enclosing value.
 * @param {string} [parent]
 * @returns {string} pointer to the first match; '' for none
 */
export function pointerTo(value, isIt, parent = '') {
  if (typeof value !== 'object' || value === null) return '';
  for (const [key, inner] of Object.entries(value)) {
    const at = `/${escaped(key)}`;
    if (isIt(key, inner, parent)) return at;
    const below = pointerTo(inner, isIt, key);
    if (below !== '') return at + below;
  }
  return '';
}
