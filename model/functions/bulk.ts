import { z } from 'zod';
import { actor, encryptedField, failure, instant, optional } from '../fields.ts';
import { RUN_OUTCOMES, RUN_STATES, type RunState } from './run-state.ts';

const bulkRefusal = z.object({ runId: z.string(), failure });
export type BulkRefusal = z.infer<typeof bulkRefusal>;

const bulkFilter = z.object({
  state: z.enum(RUN_STATES).optional(),
  outcome: z.enum(RUN_OUTCOMES).optional(),
  keys: z.array(z.string()).optional().describe('Values of a concurrency key, as JSON'),
  since: instant.optional().describe('Accepted then or later'),
});

const bulkPlace = z.object({ list: z.int(), cursor: z.string().nullable().describe('Null: from the first') });

export type BulkPlace = z.infer<typeof bulkPlace>;

const bulkPage = z.object({
  pages: z.int().describe('How many pages were done before it'),
  runs: z.array(z.string()),
  next: bulkPlace.nullable(),
});
/** Runs to act on, and the start of the next page; null: the last page. */
export type BulkPage = z.infer<typeof bulkPage>;

/** Action on many runs of a function, once for each; only on runs accepted before it. */
export const bulkRecord = z.object({
  id: z.string(),
  project: z.string(),
  function: z.string(),
  action: z.enum(['replay', 'redrive', 'cancel']),
  version: z.enum(['same', 'current']).describe('Of replays and redrives'),
  filter: encryptedField(bulkFilter).describe('Which runs of its function; what is absent says nothing'),
  state: z
    .enum(['running', 'cancelling', 'succeeded', 'cancelled'])
    .describe('`cancelling`: it ends with the runs that it is at'),
  counts: z
    .object({ done: z.int(), unchanged: z.int(), refused: z.int() })
    .describe('Runs so far. `unchanged`: there was nothing to do'),
  refusals: encryptedField(z.array(bulkRefusal)).describe('The first of those that were refused'),
  pages: z.int().describe('Pages that are done: repeating one changes nothing'),
  place: bulkPlace.describe('Where the next page begins: in which of its lists, and behind which run'),
  page: optional(bulkPage.nullable()).describe(
    'The page that is being worked on: once it is acted on, none of its lists has its runs any more. Null or absent: none is',
  ),
  digest: z.string().describe('SHA-256 of what was asked for, hex'),
  createdBy: actor,
  createdAt: instant,
  updatedAt: instant,
  endedAt: instant.nullable(),
});
export type BulkRecord = z.infer<typeof bulkRecord>;
export type BulkState = BulkRecord['state'];

/** States in which the workflow is active. */
export const BULK_OPEN = ['running', 'cancelling'] as const satisfies readonly BulkState[];

export interface BulkProgress {
  counts: BulkRecord['counts'];
  refusals: BulkRefusal[];
}

/** Workflow of a bulk action; its id is {@link bulkWorkflowId}. Its runs and progress are in the store. */
export const BULK_WORKFLOW = 'bulk';
export interface BulkInput {
  bulkId: string;
  project: string;
  function: string;
}

export function bulkWorkflowId(bulkId: string): string {
  return `bulk/${bulkId}`;
}

/** In the order of a run's states, so that an advancing run appears in a later list. */
const UNFINISHED_STATES = [
  'delayed',
  'queued',
  'preparing',
  'running',
  'collecting',
] as const satisfies readonly RunState[];

/** Returns the filters to list in turn: unfinished runs for a cancel, dead letters for a redrive. */
export function getRunFilters({
  action,
  filter,
}: Pick<BulkRecord, 'action' | 'filter'>): (BulkRecord['filter'] & { deadLetter?: boolean })[] {
  if (action === 'redrive') return [{ ...filter, deadLetter: true }];
  if (action === 'replay' || filter.state !== undefined) return [filter];
  return UNFINISHED_STATES.map((state) => ({ ...filter, state }));
}
