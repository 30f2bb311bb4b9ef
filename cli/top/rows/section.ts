import type { Approval } from '../../../clients/typescript/http/openapi.ts';
import type { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { printable } from '../../terminal/io.ts';

/** Text, or an instant whose age is shown. */
type Cell = string | { since: string };

export interface Row {
  /** Identity of a line while lines move; unique in its section. */
  id: string;
  /** Sandbox that keys act on; null: none. */
  sandboxId: string | null;
  /** Approval that keys decide. */
  approval?: Approval;
  cells: readonly Cell[];
  /** Highlight for rows that need attention. */
  tone?: 'yellow' | 'red';
}

/** Maximum characters kept of a text: no terminal is wider, and foreign names must not fill the memory. */
const MAX_LENGTH = 300;
/**
 * Invisible characters, which make different texts look alike: zero-width, direction marks, tags; and Unicode's line
 * ends.
 */
const INVISIBLE = /[\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Makes a cell of untrusted text: a terminal shows each character, and executes none. */
export function cellText(text: string | null | undefined): string {
  if (text === null || text === undefined || text === '') return '-';
  return printable(text.slice(0, MAX_LENGTH)).replace(INVISIBLE, '\ufffd');
}

/** Formats a state and its phase. */
export function stateText(state: string, phase: string | null): string {
  return cellText(phase === null ? state : `${state} (${phase})`);
}

const STEPS: [number, string][] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'm'],
  [1, 's'],
];

/** Formats an age as one number, so that a line seldom changes: `48s`, `12m`, `3h`, `9d`. @param now milliseconds */
export function ageText(since: string, now: number): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(since)) / 1_000));
  if (!Number.isFinite(seconds)) return '-';
  const [size, unit] = STEPS.find(([step]) => seconds >= step) ?? [1, 's'];
  return `${Math.floor(seconds / size)}${unit}`;
}

/** Formats a cell. @param now milliseconds */
export function cellAt(cell: Cell, now: number): string {
  return typeof cell === 'string' ? cell : ageText(cell.since, now);
}

export interface Column {
  title: string;
  /** Priority on a narrow terminal: columns with the highest rank are left out first. */
  rank: number;
}

/** Result of reading a section. */
export interface Found<T> {
  items: T[];
  /** True when the items are complete. */
  isAll: boolean;
}

export interface Section<T = unknown> {
  readonly name: string;
  readonly columns: readonly Column[];
  /** Poll interval while the section is shown, ms. */
  readonly everyMs: number;
  read(client: MayflyClient, signal: AbortSignal): Promise<Found<T>>;
  row(item: T): Row;
}

/** Section with its item type hidden. */
export interface AnySection extends Pick<Section, 'name' | 'columns' | 'everyMs'> {
  /** Reads the section; items are included as for a program. */
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
