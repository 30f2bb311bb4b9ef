import type { Column } from '../rows/section.ts';

const ASCII = /^[\x20-\x7e]*$/;
const GAP = 2;
/** No column takes more of a line, however long its texts. */
const WIDEST = 44;

/** Characters that terminals show two columns wide: emoji, and the scripts and forms of East Asia (UAX #11). */
const WIDE =
  /\p{Emoji_Presentation}|\ufe0f|[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]/u;

/** Returns the columns that a text takes. A wrong count misaligns a table, and no more: lines do not wrap. */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  return [...new Intl.Segmenter().segment(text)].reduce((sum, { segment }) => sum + (WIDE.test(segment) ? 2 : 1), 0);
}

/** The beginning of a text that fits, and whether there was more. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  if (width <= 1) return width === 1 ? '…' : '';
  if (ASCII.test(text)) return `${text.slice(0, width - 1)}…`;
  let kept = '';
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (widthOf(kept + segment) > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

/**
 * Lines of a table as wide as there is room for; columns that don't fit are left out, those of the highest rank first.
 * @returns the header, then the rows
 */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[], width: number): string[] {
  const header = columns.map(({ title }) => title);
  const all = [header, ...rows];
  const widths = columns.map((_, n) => Math.min(WIDEST, Math.max(...all.map((row) => widthOf(row[n] ?? '')))));
  const shown = columns.map((column, n) => ({ ...column, n }));
  const taken = () => shown.reduce((sum, { n }) => sum + (widths[n] ?? 0) + GAP, -GAP);
  while (shown.length > 1 && taken() > width) {
    const [first, ...others] = shown;
    const least = others.reduce((a, b) => (a.rank > b.rank ? a : b), first ?? { rank: 0, n: 0, title: '' });
    if (least.rank <= 1) break; // a cut state says more than none
    shown.splice(shown.indexOf(least), 1);
  }
  const line = (row: readonly string[]) =>
    shown.map(({ n }) => padded(cut(row[n] ?? '', widths[n] ?? 0), widths[n] ?? 0)).join(' '.repeat(GAP));
  return all.map((row) => cut(line(row).trimEnd(), width));
}

function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}
