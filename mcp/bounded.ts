import { z } from 'zod';

const CHARS = { min: 200, max: 50_000, default: 10_000 };

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
