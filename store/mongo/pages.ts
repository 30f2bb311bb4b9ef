/**
 * Reads documents in pages, by their ids.
 * @param read returns documents with ids after the given one, in order, at most `size`
 */
export async function* pagesOf<D extends { _id: string }>(
  size: number,
  read: (after: string) => Promise<D[]>,
  from = '',
): AsyncGenerator<D[]> {
  for (let after = from; ; ) {
    const page = await read(after);
    yield page;
    const last = page.at(-1);
    if (!last || page.length < size) return;
    after = last._id;
  }
}
