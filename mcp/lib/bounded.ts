import { z } from 'zod';

/** Limits of one answer, of tools and resources alike, bytes. */
export const CHARS = { min: 200, max: 50_000, default: 10_000 };

/** Parameter for the limit of one call's answer. */
export const MAX_CHARS = z.int().min(CHARS.min).max(CHARS.max).default(CHARS.default);

/** Returns the first items that fit into an answer, as text and as JSON, at least one. @param maxChars of each */
export function fitting<T>(items: readonly T[], lineOf: (item: T) => string, maxChars: number): T[] {
  let [text, json] = [0, 0];
  const more = items.findIndex((item) => {
    text += Buffer.byteLength(lineOf(item)) + 1;
    json += Buffer.byteLength(JSON.stringify(item)) + 1;
    return Math.max(text, json) > maxChars - ROOM;
  });
  return more < 0 ? [...items] : items.slice(0, Math.max(1, more));
}

/** Reserve for counts, cursors and notes around the items, characters. */
const ROOM = 150;

/** Part of a list that fits into an answer, with the cursor of the rest. */
interface Page<T> {
  items: T[];
  nextCursor: string | null;
}

/** Returns a page whose items fit. A cursor follows a complete page, so a shorter one is read again. */
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

/** Returns a value as JSON of at most 10,000 bytes: its longest lists and texts are shortened, and named in `cut`. */
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

/** Halves the largest list or text, a list before its entries. @returns false when there was none */
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

/** Maximum length of a text that is never cut. */
const SHORT = 100;

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}
