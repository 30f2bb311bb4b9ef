import { cellAt, cellText } from '../rows/row.ts';
import { SECTIONS } from '../sections/sections.ts';
import { cut, table } from './fit.ts';
import { bodyHeight, type List, type State, shownList } from './state.ts';

/** A line of the screen; it fits. */
export interface Line {
  text: string;
  style?: 'bold' | 'dim' | 'red' | 'yellow' | undefined;
}

/** The whole screen but its last line, which stays empty so that no terminal scrolls. @param now milliseconds */
export function frame(state: State, now: number): Line[] {
  const { columns, rows } = state.size;
  const room = Math.max(1, rows - 1);
  const body = state.look ? lookLines(state) : listLines(state, now);
  const [head, rest] = [[titleLine(state), tabLine(state)], body];
  // On a terminal of a few lines the foot, which asks questions, comes first, and then what is listed.
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

/** Of the clock here, to the second. */
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

function lookLines({ look, size }: State): Line[] {
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
