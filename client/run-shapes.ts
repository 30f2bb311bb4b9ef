import type { Attempt, RunFailure, RunOutcome, RunRecord, RunState } from '../model/functions/run.ts';
import type { KeptFailure, RunDiff } from '../model/functions/traces.ts';
import type { WaitSlot } from '../model/waitpoints/waiting.ts';
import type { PageOptions } from './http/options.ts';
import type { PostOptions } from './http/transport.ts';

/** A code that is newer than this client is one, too. */
type Failure = Omit<RunFailure, 'code'> & { code: string };

type Hidden =
  | 'versionDigest'
  | 'eventDigest'
  | 'keys'
  | 'throttleKey'
  | 'lane'
  | 'lateBinding'
  | 'gathering'
  | 'gatheringKey'
  | 'dedupe'
  | 'dedupeUntil'
  | 'epoch'
  | 'tries'
  | 'failedStarts'
  | 'seq'
  | 'retentionDays'
  | 'failure'
  | 'attempts'
  | 'kept'
  | 'diff'
  | 'waiting';

/** How the process of a run waits. */
export interface RunWaits {
  /** Null: it does not wait now. */
  since: string | null;
  /** Null: its machine runs. */
  hibernatedAt: string | null;
  slot: WaitSlot;
  /** Why its machine was not hibernated when that was tried last. */
  failure: Failure | null;
}

/** A run as the API shows it. */
export interface Run extends Omit<RunRecord, Hidden> {
  failure: Failure | null;
  attempts: (Omit<Attempt, 'failure'> & { failure: Failure | null })[];
  /** Of one that failed, where its function has `keep`. Null: nothing was to be kept, or it is not known yet. */
  kept: (Omit<KeptFailure, 'failure'> & { failure: Failure | null }) | null;
  /** What its process changed, where its function has `diff`. Null: nobody wants to know, or it is not known yet. */
  diff: (Omit<RunDiff, 'failure'> & { failure: Failure | null }) | null;
  /** How its process waits for waitpoints. Null: it has not waited. */
  waiting: RunWaits | null;
  /** Of a list that was asked for them: JSON or text of 16 KiB at most; null: none that is that. */
  contents?: { input: unknown; result: unknown };
}

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

/** What became of one event of a batch: its run, or why there is none. */
export type BatchItem =
  | { status: number; runId: string; isNew: boolean }
  | { status: number; problem: { code: string; detail?: string; errors?: { field: string; problem: string }[] } };

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

export interface RunsQuery extends PageOptions {
  /** Of this function. `@default` of all */
  function?: string;
  state?: RunState;
  outcome?: RunOutcome;
  /** With this value at the key of its first concurrency rule that has one: the text itself, or JSON. */
  key?: string;
  /** Accepted then or later. RFC 3339 */
  since?: string;
  /** Only those that ended otherwise than succeeded, cancelled or skipped, and were not redriven. `@default` false */
  deadLetter?: boolean;
  /** Each with its `contents`. `@default` false */
  contents?: boolean;
}

export interface ReplayRun extends PostOptions {
  /** Of the function: that of the run, or the active one. `@default` same */
  version?: 'same' | 'current';
  /**
   * Another in its place: a CloudEvent, or the JSON of one. What it lacks of `specversion`, `id`, `source` and `type` is the
   * run's; its data is what it has itself.
   */
  event?: Partial<CloudEvent> | Uint8Array;
}

/** A run as it comes along: its artifacts are told by {@link Run} alone. */
export type RunProgress = Omit<Run, 'artifacts'>;

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
