const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPENING = [0x5b, 0x7b];
const CLOSING = [0x5d, 0x7d];
const SPACE = [0x20, 0x09, 0x0a, 0x0d];

/**
 * The texts of the items of an array, each as it was written. No byte of a character beyond ASCII is one of those looked for.
 * @param array UTF-8, a JSON array: that it is one is not checked
 */
export function jsonItems(array: Uint8Array): Uint8Array[] {
  const items: Uint8Array[] = [];
  let depth = 0;
  let begin = 0;
  for (let at = 0; at < array.length; at++) {
    const byte = array[at] ?? 0;
    if (byte === QUOTE) {
      at = endOfString(array, at);
    } else if (OPENING.includes(byte)) {
      depth += 1;
      if (depth === 1) begin = at + 1;
    } else if (CLOSING.includes(byte)) {
      depth -= 1;
      if (depth === 0) items.push(trimmed(array, begin, at));
    } else if (byte === COMMA && depth === 1) {
      items.push(trimmed(array, begin, at));
      begin = at + 1;
    }
  }
  return items.filter((item) => item.length > 0); // of an empty array: nothing between its brackets
}

/** Where the string that begins at `quote` has its other quote. */
function endOfString(array: Uint8Array, quote: number): number {
  let at = quote + 1;
  while (at < array.length && array[at] !== QUOTE) at += array[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** A copy, so that an item that is kept does not keep them all. */
function trimmed(array: Uint8Array, begin: number, end: number): Uint8Array {
  let from = begin;
  let to = end;
  while (from < to && SPACE.includes(array[from] ?? 0)) from += 1;
  while (to > from && SPACE.includes(array[to - 1] ?? 0)) to -= 1;
  return array.slice(from, to);
}
