import { type Column, cellAt, cellText } from '../rows/section.ts';
import { SECTIONS } from '../sections/sections.ts';
import { bodyHeight, type List, type State, shownList } from './state.ts';

const ASCII = /^[\x20-\x7e]*$/;
const GAP = 2;
/** Maximum width of a column, even for longer texts. */
const WIDEST = 44;

/** Characters that terminals show two columns wide: emoji, and the scripts and forms of East Asia (UAX #11). */
const WIDE =
  /\p{Emoji_Presentation}|\ufe0f|[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]/u;

/** Returns the columns that a text takes. A wrong count only misaligns a table: lines do not wrap. */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  return [...new Intl.Segmenter().segment(text)].reduce((sum, { segment }) => sum + (WIDE.test(segment) ? 2 : 1), 0);
}

/** Returns the beginning of a text that fits, with `…` when it is cut. */
function cut(text: string, width: number): string {
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
 * Lays out a table as wide as there is room for; columns that don't fit are left out, those of the highest rank first.
 * @returns the header, then the rows
 */
function table(columns: readonly Column[], rows: readonly (readonly string[])[], width: number): string[] {
  const header = columns.map(({ title }) => title);
  const all = [header, ...rows];
  const widths = columns.map((_, n) => Math.min(WIDEST, Math.max(...all.map((row) => widthOf(row[n] ?? '')))));
  const shown = columns.map((column, n) => ({ ...column, n }));
  const totalWidth = () => shown.reduce((sum, { n }) => sum + (widths[n] ?? 0) + GAP, -GAP);
  while (shown.length > 1 && totalWidth() > width) {
    const [first, ...others] = shown;
    const least = others.reduce((a, b) => (a.rank > b.rank ? a : b), first ?? { rank: 0, n: 0, title: '' });
    if (least.rank <= 1) break; // a cut state is more useful than none
    shown.splice(shown.indexOf(least), 1);
  }
  const line = (row: readonly string[]) =>
    shown.map(({ n }) => padToWidth(cut(row[n] ?? '', widths[n] ?? 0), widths[n] ?? 0)).join(' '.repeat(GAP));
  return all.map((row) => cut(line(row).trimEnd(), width));
}

function padToWidth(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}

/** Line of the screen; it fits. */
interface Line {
  text: string;
  style?: 'bold' | 'dim' | 'red' | 'yellow' | undefined;
}

/** Draws the whole screen but its last line, which stays empty so that no terminal scrolls. @param now milliseconds */
export function frame(state: State, now: number): Line[] {
  const { columns, rows } = state.size;
  const room = Math.max(1, rows - 1);
  const body = state.look ? detailLines(state) : listLines(state, now);
  const [head, rest] = [[titleLine(state), tabLine(state)], body];
  // On a terminal of a few lines the footer with questions comes first, then the list.
  const spare = Math.max(0, room - 1 - Math.min(rest.length, 2));
  const upper = [...head.slice(0, spare), ...rest].slice(0, room - 1);
  const empty = Array.from({ length: room - 1 - upper.length }, () => ({ text: '' }));
  return [...upper, ...empty, footLine(state)].map((line) => ({ ...line, text: cut(line.text, columns) }));
}

function titleLine(state: State): Line {
  const { fault, readAt } = shownList(state);
  const where = cellText(state.apiUrl);
  if (fault === null) return { text: `mayfly top  ${readAt === null ? 'asks' : 'at'} ${where}`, style: 'bold' };
  const since = readAt === null ? 'nothing read yet' : `stale since ${timeOf(readAt)}`;
  return { text: `mayfly top  ${since}: ${fault}`, style: 'red' };
}

/** Formats local time, to the second. */
function timeOf(at: number): string {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':');
}

function tabLine({ names, lists, shown, size }: State): Line {
  const counts = names.map((name, nth) => ({ name, nth, count: countOf(lists[nth]) }));
  const tab = (nth: number, text: string) => (nth === shown ? `[${text}]` : ` ${text} `);
  const full = counts.map(({ name, nth, count }) => tab(nth, `${nth + 1} ${name} ${count}`)).join('');
  const short = counts.map(({ name, nth, count }) => tab(nth, `${nth + 1} ${nth === shown ? `${name} ` : ''}${count}`));
  return { text: full.length <= size.columns ? full : short.join('') };
}

function countOf(list: List | undefined): string {
  if (!list || list.readAt === null) return '-';
  return `${list.rows.length}${list.isAll ? '' : '+'}`;
}

function listLines(state: State, now: number): Line[] {
  const { rows, top, index, readAt } = shownList(state);
  const shown = rows.slice(top, top + bodyHeight(state.size));
  const texts = shown.map(({ cells }) => cells.map((cell) => cellAt(cell, now)));
  const [header = '', ...lines] = table(SECTIONS[state.shown]?.columns ?? [], texts, state.size.columns - 2);
  const empty = readAt !== null && rows.length === 0 ? [{ text: '  none', style: 'dim' as const }] : [];
  return [
    { text: `  ${header}`, style: 'dim' },
    ...lines.map((text, n): Line => {
      const isChosen = top + n === index;
      const style = isChosen ? 'bold' : shown[n]?.tone;
      return { text: `${isChosen ? '> ' : '  '}${text}`, ...(style && { style }) };
    }),
    ...empty,
  ];
}

function detailLines({ look, size }: State): Line[] {
  const lines = look?.lines ?? [];
  const shown = lines.slice(look?.top ?? 0, (look?.top ?? 0) + bodyHeight(size) + 1);
  return shown.map((text) => ({ text }));
}

function footLine({ question, notice, look, mayChange, mayDecide, names }: State): Line {
  if (question) return { text: question.asks, style: 'red' };
  if (notice !== null) return { text: notice, style: 'yellow' };
  const changes = mayChange ? '  l log in  d destroy' : '';
  if (look?.approval) return { text: `esc back${mayDecide ? '  a approve  r refuse' : ''}  ↑↓ scroll`, style: 'dim' };
  if (look) return { text: `esc back${changes}  ↑↓ scroll`, style: 'dim' };
  return { text: `q quit  ↑↓ enter look${changes}  1-${names.length} tab sections`, style: 'dim' };
}
