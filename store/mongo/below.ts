/** Returns a range of texts below a name: `<name>/…`. */
export function prefixRange(name: string): { $gt: string; $lt: string } {
  return { $gt: `${name}/`, $lt: `${name}0` }; // the character after the slash
}

/** Returns a filter of the documents below a name: `_id` is `<name>/…`. */
export function idPrefixFilter(name: string): { _id: { $gt: string; $lt: string } } {
  return { _id: prefixRange(name) };
}
