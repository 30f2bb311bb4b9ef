import type { AcceptedBatch, Run } from './http/openapi.ts';
import type { PostOptions } from './http/transport.ts';

/** Options for sending an event. */
export interface EventOptions extends PostOptions {
  /** Media type of bytes, which are sent as they are. `@default` application/json */
  contentType?: string;
}

export interface CreateRun extends EventOptions {
  /** Delay before its start, s. `@default` 0 */
  delaySeconds?: number;
  /** Time for which the API may hold its answer back for the end of the run, s. `@default` 0 */
  waitSeconds?: number;
}

/** Event in the JSON format of CloudEvents 1.0. */
export interface CloudEvent {
  specversion: '1.0';
  /** Dedupe key, together with `source`. */
  id: string;
  source: string;
  type: string;
  data?: unknown;
  [attribute: string]: unknown;
}

/** Outcome of one event of a batch: its run, or the reason why it has none. */
export type BatchItem = AcceptedBatch['items'][number];

export interface RunResult {
  /** Media type that the process set. */
  contentType: string;
  bytes: Uint8Array;
}

/** Result of an event that was waited for. */
export interface Invoked {
  runId: string;
  /** Run that has not ended, when the wait ended first. */
  run?: Run;
  /** Null for a run that succeeded without a result, or has not ended. */
  contentType: string | null;
  /** Content of the result; empty without one. */
  bytes: Uint8Array;
}

export interface ReplayOptions extends PostOptions {
  /** Version of the function: the run's, or the active one. `@default` same */
  version?: 'same' | 'current';
  /**
   * Replacement of the event: a CloudEvent, or the JSON of one. Missing `specversion`, `id`, `source` and `type` are
   * the run's; data is not taken from the run.
   */
  event?: Partial<CloudEvent> | Uint8Array;
}

export interface RunOutputOptions {
  /** `@default` stdout */
  stream?: 'stdout' | 'stderr';
  /** 1, 2, 3 … `@default` the last */
  attempt?: number;
  /** Offset in the stream, bytes. `@default` 0 */
  offset?: number;
  /** Limit, bytes. `@default` all that are stored now */
  limit?: number;
  signal?: AbortSignal;
}

export interface RunOutput {
  bytes: ReadableStream<Uint8Array>;
  /** Offset to continue from. */
  nextOffset: number;
  /** True when the process has stopped writing, and this was the end. */
  hasEnded: boolean;
}

export interface EndedOptions {
  /** `clean`: it has ended, and its cleanup is not pending. `ended`: it has ended. `@default` clean */
  until?: 'clean' | 'ended';
  /** Called with each polled state. */
  look?: (run: Run) => void;
  signal?: AbortSignal;
}
