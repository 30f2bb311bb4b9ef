import { z } from 'zod';

/** Bounds of one answer, of a tool and of a resource alike. Bytes. */
export const CHARS = { min: 200, max: 50_000, default: 10_000 };

/** Bound of what one call answers. */
export const MAX_CHARS = z.int().min(CHARS.min).max(CHARS.max).default(CHARS.default);

/** The first items that have room in an answer, as text and as JSON alike, at least one. @param maxChars of each */
export function fitting<T>(items: readonly T[], lineOf: (item: T) => string, maxChars: number): T[] {
  let [text, json] = [0, 0];
  const more = items.findIndex((item) => {
    text += Buffer.byteLength(lineOf(item)) + 1;
    json += Buffer.byteLength(JSON.stringify(item)) + 1;
    return Math.max(text, json) > maxChars - ROOM;
  });
  return more < 0 ? [...items] : items.slice(0, Math.max(1, more));
}

/** For what stands around the items: counts, cursors, notes. Characters. */
const ROOM = 150;

/** Part of a list that has room in an answer, and where it goes on. */
interface Page<T> {
  items: T[];
  nextCursor: string | null;
}

/** Returns a page whose items have room. A cursor stands behind a whole page, so a shorter one is read again. */
export async function fittingPage<From, To>(
  pageOf: (limit: number) => Promise<Page<From>>,
  limit: number,
  shown: { of: (item: From) => To; lineOf: (item: To) => string; maxChars?: number },
): Promise<Page<To>> {
  const page = await pageOf(limit);
  const items = page.items.map(shown.of);
  const fit = fitting(items, shown.lineOf, shown.maxChars ?? CHARS.default);
  if (fit.length === items.length) return { items, nextCursor: page.nextCursor };
  const shorter = await pageOf(fit.length);
  return { items: shorter.items.map(shown.of), nextCursor: shorter.nextCursor };
}

/** Returns a value as JSON of 10,000 bytes at most: its longest lists and texts are shortened, and named in `cut`. */
export function boundedJson(value: object): string {
  const whole = structuredClone(value);
  const cut: Record<string, string> = {};
  const textOf = () => JSON.stringify(Object.keys(cut).length > 0 ? { ...whole, cut } : whole, null, 1);
  let text = textOf();
  while (Buffer.byteLength(text) > CHARS.default) {
    if (!shorten(whole, '', cut)) break;
    text = textOf();
  }
  return text;
}

/** Halves the list or text that takes most room, a list before what is in it. @returns whether there was one */
function shorten(of: object, path: string, cut: Record<string, string>): boolean {
  const [name, largest] = Object.entries(of).reduce<[string, unknown]>(
    (most, entry) => (sizeOf(entry[1]) > sizeOf(most[1]) ? entry : most),
    ['', null],
  );
  const at = `${path}/${name}`;
  const isList = Array.isArray(largest) && largest.length > 1;
  if (isList || (typeof largest === 'string' && largest.length > SHORT)) {
    const [length, all] = [Math.ceil(largest.length / 2), / of (.*)/.exec(cut[at] ?? '')?.[1]];
    Object.assign(of, { [name]: largest.slice(0, length) });
    cut[at] = `${length} of ${all ?? `${largest.length} ${isList ? 'entries' : 'characters'}`}`;
    return true;
  }
  return typeof largest === 'object' && largest !== null && shorten(largest, at, cut);
}

/** Length of a text that is not worth cutting. */
const SHORT = 100;

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}
