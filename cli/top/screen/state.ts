import type { Approval } from '../../../clients/typescript/http/openapi.ts';
import type { Row } from '../rows/section.ts';

/** Action that a key requests from the program, besides changes of the screen. */
export type Action =
  | { do: 'quit' | 'suspend' | 'redraw' | 'unlook' }
  | { do: 'look' | 'log-in' | 'destroy'; sandboxId: string }
  | { do: 'approve' | 'refuse'; approval: Approval };

interface Size {
  columns: number;
  rows: number;
}

/** State of one section. */
export interface List {
  rows: readonly Row[];
  isAll: boolean;
  /** Time of the last read, ms; null: never. */
  readAt: number | null;
  /** Error of the last read; null: it succeeded. */
  fault: string | null;
  /** Selected row, even after it moves. */
  chosenId: string | null;
  /** Last position of the selected row. */
  index: number;
  /** First visible line. */
  top: number;
}

/** Question before an end or a decision: about this subject, on any line. */
export interface Question {
  asks: string;
  /** Action of a yes. */
  action: Action;
  /** Message after a no. */
  otherwise: string;
}

/** Detail view of one sandbox, or one approval. */
interface Look {
  sandboxId: string | null;
  approval: Approval | null;
  lines: readonly string[];
  top: number;
}

export interface State {
  readonly apiUrl: string;
  readonly size: Size;
  /** Names of the sections, in their order. */
  readonly names: readonly string[];
  readonly shown: number;
  readonly lists: readonly List[];
  readonly question: Question | null;
  readonly look: Look | null;
  /** Result of the last key. */
  readonly notice: string | null;
  /** True when the key may change sandboxes and log in; false while unknown. */
  readonly mayChange: boolean;
  /** True when its scopes allow decisions on approvals; false while unknown. */
  readonly mayDecide: boolean;
}

const NOTHING_READ: List = { rows: [], isAll: false, readAt: null, fault: null, chosenId: null, index: 0, top: 0 };

export function firstState(apiUrl: string, names: readonly string[], size: Size): State {
  const lists = names.map(() => NOTHING_READ);
  const nothing = { question: null, look: null, notice: null, mayChange: false, mayDecide: false };
  return { apiUrl, size, names, shown: 0, lists, ...nothing };
}

/** Returns the lines between the header (three lines) and the footer. */
export function bodyHeight({ rows }: Size): number {
  return Math.max(1, rows - 5);
}

export function shownList({ lists, shown }: State): List {
  return lists[shown] ?? NOTHING_READ;
}

export function chosenRow(state: State): Row | null {
  const { rows, index } = shownList(state);
  return rows[index] ?? null;
}

/** Updates a section after a read. */
export function withRows(state: State, nth: number, rows: readonly Row[], isAll: boolean, now: number): State {
  return withList(state, nth, (list) => follow({ ...list, rows, isAll, readAt: now, fault: null }));
}

/** Marks a section as unreadable: its rows stay, and are stale. */
export function withFault(state: State, nth: number, fault: string): State {
  return withList(state, nth, (list) => ({ ...list, fault }));
}

export function withSize(state: State, size: Size): State {
  const resized = { ...state, size };
  return { ...resized, lists: state.lists.map((list) => visible(list, bodyHeight(size))) };
}

/** Selects another line of the shown list. @param by number of lines down */
export function moveSelection(state: State, by: number): State {
  return withList(state, state.shown, (list) => {
    const index = Math.min(Math.max(0, list.index + by), Math.max(0, list.rows.length - 1));
    return { ...list, index, chosenId: list.rows[index]?.id ?? null };
  });
}

function withList(state: State, nth: number, change: (list: List) => List): State {
  const height = bodyHeight(state.size);
  return { ...state, lists: state.lists.map((list, n) => (n === nth ? visible(change(list), height) : list)) };
}

/** Keeps the selection on its row; selects a neighbour when the row has gone. */
function follow(list: List): List {
  const { rows, chosenId } = list;
  const found = chosenId === null ? -1 : rows.findIndex(({ id }) => id === chosenId);
  const index = found === -1 ? Math.min(list.index, Math.max(0, rows.length - 1)) : found;
  // Keeps its line of the terminal, unless the top is shown, where new rows appear.
  const top = list.top === 0 ? 0 : list.top + index - list.index;
  return { ...list, index, top, chosenId: rows[index]?.id ?? null };
}

/** Scrolls so that the selected line is visible, and no line is empty needlessly. */
function visible(list: List, height: number): List {
  const lowest = Math.max(0, list.rows.length - height);
  const top = Math.min(Math.max(list.top, list.index - height + 1, 0), list.index, lowest);
  return { ...list, top };
}
