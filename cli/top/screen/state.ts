import type { Approval } from '../../../clients/typescript/http/openapi.ts';
import type { Row } from '../rows/section.ts';

/** What a key asks the program to do, besides what it changes on the screen. */
export type Action =
  | { do: 'quit' | 'suspend' | 'redraw' | 'unlook' }
  | { do: 'look' | 'log-in' | 'destroy'; sandboxId: string }
  | { do: 'approve' | 'refuse'; approval: Approval };

interface Size {
  columns: number;
  rows: number;
}

/** One section as it is known. */
export interface List {
  rows: readonly Row[];
  isAll: boolean;
  /** When it was last read, milliseconds; null: never. */
  readAt: number | null;
  /** Why the last read failed; null: it did not. */
  fault: string | null;
  /** Which line is chosen: that of this row, wherever it moves. */
  chosenId: string | null;
  /** Where it was when it was last seen. */
  index: number;
  /** The first line that is shown. */
  top: number;
}

/** What is asked before something is ended or decided: about this one, whatever line it is on by then. */
export interface Question {
  asks: string;
  /** What a yes does. */
  action: Action;
  /** What is said after a no. */
  otherwise: string;
}

/** One sandbox, or one approval, that is looked at. */
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
  /** What came of the last key. */
  readonly notice: string | null;
  /** Whether the key may change sandboxes and log in; false as long as nobody knows. */
  readonly mayChange: boolean;
  /** Whether it may decide on approvals, as far as its scopes say; the same. */
  readonly mayDecide: boolean;
}

const NOTHING_READ: List = { rows: [], isAll: false, readAt: null, fault: null, chosenId: null, index: 0, top: 0 };

export function firstState(apiUrl: string, names: readonly string[], size: Size): State {
  const lists = names.map(() => NOTHING_READ);
  const nothing = { question: null, look: null, notice: null, mayChange: false, mayDecide: false };
  return { apiUrl, size, names, shown: 0, lists, ...nothing };
}

/** Lines between the head, which has three, and the foot. */
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

/** A section as it was read just now. */
export function withRows(state: State, nth: number, rows: readonly Row[], isAll: boolean, now: number): State {
  return withList(state, nth, (list) => follow({ ...list, rows, isAll, readAt: now, fault: null }));
}

/** A section that could not be read: what is known of it stays, and is stale. */
export function withFault(state: State, nth: number, fault: string): State {
  return withList(state, nth, (list) => ({ ...list, fault }));
}

export function withSize(state: State, size: Size): State {
  const resized = { ...state, size };
  return { ...resized, lists: state.lists.map((list) => visible(list, bodyHeight(size))) };
}

/** Chooses another line of what is shown. @param by how many lines down */
export function moved(state: State, by: number): State {
  return withList(state, state.shown, (list) => {
    const index = Math.min(Math.max(0, list.index + by), Math.max(0, list.rows.length - 1));
    return { ...list, index, chosenId: list.rows[index]?.id ?? null };
  });
}

function withList(state: State, nth: number, change: (list: List) => List): State {
  const height = bodyHeight(state.size);
  return { ...state, lists: state.lists.map((list, n) => (n === nth ? visible(change(list), height) : list)) };
}

/** The chosen row where it is now; another in its place when it has gone. */
function follow(list: List): List {
  const { rows, chosenId } = list;
  const found = chosenId === null ? -1 : rows.findIndex(({ id }) => id === chosenId);
  const index = found === -1 ? Math.min(list.index, Math.max(0, rows.length - 1)) : found;
  // It stays on its line of the terminal, unless it is the first line that shows what is new.
  const top = list.top === 0 ? 0 : list.top + index - list.index;
  return { ...list, index, top, chosenId: rows[index]?.id ?? null };
}

/** So that the chosen line is seen, and no line is empty without need. */
function visible(list: List, height: number): List {
  const lowest = Math.max(0, list.rows.length - height);
  const top = Math.min(Math.max(list.top, list.index - height + 1, 0), list.index, lowest);
  return { ...list, top };
}
