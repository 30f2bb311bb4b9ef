import type { AcceptedBatch, Run } from './http/openapi.ts';
import type { PostOptions } from './http/transport.ts';

/** How an event is sent. */
export interface EventOptions extends PostOptions {
  /** Of data that is bytes, which are sent as they are. `@default` application/json */
  contentType?: string;
}

export interface CreateRun extends EventOptions {
  /** It is not started before. Seconds. `@default` 0 */
  delaySeconds?: number;
  /** How long the API may hold its answer back for the end of the run. Seconds. `@default` 0 */
  waitSeconds?: number;
}

/** An event as CloudEvents 1.0 has it in JSON. */
export interface CloudEvent {
  specversion: '1.0';
  /** With `source` what makes two events the same. */
  id: string;
  source: string;
  type: string;
  data?: unknown;
  [attribute: string]: unknown;
}

/** Outcome of one event of a batch: its run, or why there is none. */
export type BatchItem = AcceptedBatch['items'][number];

export interface RunResult {
  /** As the process named it. */
  contentType: string;
  bytes: Uint8Array;
}

/** What came of an event that was waited for. */
export interface Invoked {
  runId: string;
  /** It has not ended: the wait was over first. */
  run?: Run;
  /** Null: it has succeeded and left no result, or it has not ended. */
  contentType: string | null;
  /** The result; empty where there is none. */
  bytes: Uint8Array;
}

export interface ReplayOptions extends PostOptions {
  /** Of the function: that of the run, or the active one. `@default` same */
  version?: 'same' | 'current';
  /**
   * Another in its place: a CloudEvent, or the JSON of one. What it lacks of `specversion`, `id`, `source` and `type` is the
   * run's; its data is what it has itself.
   */
  event?: Partial<CloudEvent> | Uint8Array;
}

export interface RunOutputOptions {
  /** `@default` stdout */
  stream?: 'stdout' | 'stderr';
  /** 1, 2, 3 … `@default` the last */
  attempt?: number;
  /** Bytes of the stream before it. `@default` 0 */
  offset?: number;
  /** Bytes at most. `@default` all that are stored now */
  limit?: number;
  signal?: AbortSignal;
}

export interface RunOutput {
  bytes: ReadableStream<Uint8Array>;
  /** Where to go on. */
  nextOffset: number;
  /** Its process writes no more, and this was the end. */
  hasEnded: boolean;
}

export interface EndedOptions {
  /** `clean`: it has ended, and nothing of its machines is pending. `ended`: it has ended. `@default` clean */
  until?: 'clean' | 'ended';
  /** Called with each state that is heard of. */
  look?: (run: Run) => void;
  signal?: AbortSignal;
}
