import type { Approval } from '../../../clients/typescript/http/openapi.ts';
import type { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { printable } from '../../terminal/io.ts';

/** Text, or the time since when: its age is shown. */
type Cell = string | { since: string };

/** A line of a list. */
export interface Row {
  /** What it is known by while lines move; no other of its section has it. */
  id: string;
  /** The sandbox that keys act on; null: none. */
  sandboxId: string | null;
  /** What is decided on. */
  approval?: Approval;
  cells: readonly Cell[];
  /** Whether somebody should look at it. */
  tone?: 'yellow' | 'red';
}

/** Characters that are kept of one text: no terminal is wider, and names of others must not fill our memory. */
const MAX_LENGTH = 300;
/** Shown as nothing, so that two texts look alike: zero-width, direction marks, tags; and ends of lines of Unicode. */
const UNSEEN = /[\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Text from elsewhere as a cell: a terminal shows each character of it, and obeys none. */
export function cellText(text: string | null | undefined): string {
  if (text === null || text === undefined || text === '') return '-';
  return printable(text.slice(0, MAX_LENGTH)).replace(UNSEEN, '\ufffd');
}

/** What is said of a state and where in it. */
export function stateText(state: string, phase: string | null): string {
  return cellText(phase === null ? state : `${state} (${phase})`);
}

const STEPS: [number, string][] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'm'],
  [1, 's'],
];

/** Time as one number, so that a line seldom changes: `48s`, `12m`, `3h`, `9d`. @param now milliseconds */
export function ageText(since: string, now: number): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(since)) / 1_000));
  if (!Number.isFinite(seconds)) return '-';
  const [size, unit] = STEPS.find(([step]) => seconds >= step) ?? [1, 's'];
  return `${Math.floor(seconds / size)}${unit}`;
}

/** A cell as text. @param now milliseconds */
export function cellAt(cell: Cell, now: number): string {
  return typeof cell === 'string' ? cell : ageText(cell.since, now);
}

export interface Column {
  title: string;
  /** Where there is no room for all, those with the highest rank are left out first. */
  rank: number;
}

/** What was found of a section. */
export interface Found<T> {
  items: T[];
  /** Whether these are all there are. */
  isAll: boolean;
}

export interface Section<T = unknown> {
  readonly name: string;
  readonly columns: readonly Column[];
  /** How often it is read while it is shown. Milliseconds. */
  readonly everyMs: number;
  read(client: MayflyClient, signal: AbortSignal): Promise<Found<T>>;
  row(item: T): Row;
}

/** A section whose items are known to itself alone. */
export interface AnySection extends Pick<Section, 'name' | 'columns' | 'everyMs'> {
  /** With the items as a program gets them. */
  rows(client: MayflyClient, signal: AbortSignal): Promise<Found<unknown> & { rows: Row[] }>;
}

export function anySection<T>(section: Section<T>): AnySection {
  const { name, columns, everyMs } = section;
  return {
    name,
    columns,
    everyMs,
    rows: async (client, signal) => {
      const found = await section.read(client, signal);
      return { ...found, rows: found.items.map((item) => section.row(item)) };
    },
  };
}
