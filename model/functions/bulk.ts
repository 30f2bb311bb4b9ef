import type { Actor } from '../sandbox/sandbox.ts';
import type { RunFailure, RunOutcome, RunState } from './run-state.ts';

export const BULK_ACTIONS = ['replay', 'redrive', 'cancel'] as const;
export type BulkAction = (typeof BULK_ACTIONS)[number];

/** `cancelling`: no page after the one that is being worked on. */
export const BULK_STATES = ['running', 'cancelling', 'succeeded', 'cancelled'] as const;
export type BulkState = (typeof BULK_STATES)[number];

/** Those in which its workflow is at work. */
export const BULK_OPEN = ['running', 'cancelling'] as const satisfies readonly BulkState[];

/** Which runs of its function; what is absent says nothing. */
interface BulkFilter {
  state?: RunState | undefined;
  outcome?: RunOutcome | undefined;
  /** Values of a concurrency key, as JSON. */
  keys?: string[] | undefined;
  /** Accepted then or later. ISO 8601. */
  since?: string | undefined;
}

/** What became of runs that were met. */
interface BulkCounts {
  /** It was done, by this operation. */
  done: number;
  /** There was nothing to do: a run that has ended is not cancelled. */
  unchanged: number;
  /** It was refused. */
  refused: number;
}

export interface BulkRefusal {
  runId: string;
  failure: RunFailure;
}

/** One action on many runs of a function, once on each: only on those that were accepted before it. */
export interface BulkRecord {
  id: string;
  project: string;
  function: string;
  action: BulkAction;
  /** Of replays and redrives. */
  version: 'same' | 'current';
  filter: BulkFilter;
  state: BulkState;
  counts: BulkCounts;
  /** The first of those that were refused. */
  refusals: BulkRefusal[];
  /** Pages that are done: whoever says so twice is heard once. */
  pages: number;
  /** Where the next page begins: in which of its lists, and behind which run. */
  place: BulkPlace;
  /** The page that is being worked on: once it is acted on, none of its lists has its runs any more. Null or absent: none is. */
  page?: BulkPage | null;
  /** SHA-256 of what was asked for, hex. */
  digest: string;
  createdBy: Actor;
  createdAt: string;
  updatedAt: string;
  endedAt: string | null;
}

export interface BulkPlace {
  list: number;
  /** Null: from the first. */
  cursor: string | null;
}

/** Runs to act on, and where the page after them begins; null: there is none. */
export interface BulkPage {
  /** How many pages were done before it. */
  pages: number;
  runs: string[];
  next: BulkPlace | null;
}

export interface BulkDone {
  counts: BulkCounts;
  refusals: BulkRefusal[];
}

/** The workflow of one; its id is {@link bulkWorkflowIdOf}. Which runs, and how far it is, stands in the store. */
export const BULK_WORKFLOW = 'bulk';
export interface BulkInput {
  bulkId: string;
  project: string;
  function: string;
}

export function bulkWorkflowIdOf(bulkId: string): string {
  return `bulk/${bulkId}`;
}

/** In the order in which runs go through them, so that one that goes on meanwhile is met in a later list. */
const NOT_ENDED = ['delayed', 'queued', 'preparing', 'running', 'collecting'] as const satisfies readonly RunState[];

/** What is listed one after another: of a cancel only what has not ended, of a redrive only dead letters. */
export function listsOf({
  action,
  filter,
}: Pick<BulkRecord, 'action' | 'filter'>): (BulkFilter & { deadLetter?: boolean })[] {
  if (action === 'redrive') return [{ ...filter, deadLetter: true }];
  if (action === 'replay' || filter.state !== undefined) return [filter];
  return NOT_ENDED.map((state) => ({ ...filter, state }));
}
