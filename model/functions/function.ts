import type { Actor, Egress } from '../sandbox/sandbox.ts';
import type { SecretUse } from '../secrets/secret.ts';
import type { WaitSpec } from '../waitpoints/waiting.ts';

/**
 * What becomes of a run that finds its concurrency used up: it waits, it ends as `skipped`, or older ones make room for it: those
 * that wait end as `skipped`, and those under way are cancelled.
 */
export const ON_FULL = ['queue', 'skip', 'cancel-running'] as const;
type OnFull = (typeof ON_FULL)[number];

/** How many runs of a function are under way at once, in all, or with the same value at `key` in the data of their events. */
export interface ConcurrencyRule {
  limit: number;
  /** JSON Pointer (RFC 6901) into the data of an event; null: all runs count together. */
  key: string | null;
  onFull: OnFull;
}

/** What becomes of a run that comes too soon after others: it waits, or it ends as `skipped`. */
export const ON_RATE = ['queue', 'skip'] as const;
type OnRate = (typeof ON_RATE)[number];

/**
 * How many runs of a function begin in a time, in all, or with the same value at `key`: one each `periodSeconds` / `limit`, and
 * `burst` of them at once when none has begun for long enough (GCRA). So of any period `limit` + `burst` - 1 at most.
 */
export interface ThrottleRule {
  limit: number;
  periodSeconds: number;
  burst: number;
  /** JSON Pointer into the data of an event; null: all runs count together. */
  key: string | null;
  onFull: OnRate;
}

/**
 * Has the events of a key gather, until none has come for `periodSeconds`, or the first has waited `maxWaitSeconds`; then the
 * newest by its time runs, for all of them.
 */
export interface Debounce {
  periodSeconds: number;
  maxWaitSeconds: number;
  /** JSON Pointer into the data of an event; null: all gather together. */
  key: string | null;
}

/** Has the events of a key gather, until there are `maxSize`, or the first has waited `maxWaitSeconds`; then one run has them all. */
export interface Batching {
  maxSize: number;
  maxWaitSeconds: number;
  key: string | null;
}

/** Outcomes after which another attempt may be made. */
export const RETRIED_OUTCOMES = ['failed', 'timed-out', 'unknown'] as const;
type RetriedOutcome = (typeof RETRIED_OUTCOMES)[number];

/** When another attempt is made of what was started: only of a function that says that it is idempotent. */
export interface RetryPolicy {
  /** The first among them. */
  maxAttempts: number;
  on: RetriedOutcome[];
  /** Only after these; null: after any. */
  exitCodes: number[] | null;
  backoff: { initialSeconds: number; factor: number; maxSeconds: number; jitter: boolean };
}

/** What is done once, before any run: its outcome is saved, and each run is a fork of that. */
export interface SetupSpec {
  source: string;
  /** Run by the shell of the function's user, where the function's files are. */
  script: string;
  timeoutSeconds: number;
}

/**
 * What to run; defaults filled in at the door. One of `source`, `snapshotId` and `setup` is set, and one of `command` and `argv`.
 */
export interface FunctionSpec {
  source: string | null;
  snapshotId: string | null;
  /** Absent: it has none. */
  setup?: SetupSpec;
  /** SHA-256 of its files, a tar archive; null: it has none. Hex. */
  filesDigest: string | null;
  /** Run by the user's login shell exactly as written. */
  command: string | null;
  argv: string[] | null;
  /** A user of the guest; null: the login user. */
  user: string | null;
  env: Record<string, string>;
  /** By their names: their values are kept apart, and each attempt is given those that hold then. */
  secrets: SecretUse[];
  /** `schema`: JSON Schema 2020-12 of the data; null: anything. */
  input: { schema: unknown; maxBytes: number };
  timeoutSeconds: number;
  /** From SIGTERM to SIGKILL, when its process is ended. */
  graceSeconds: number;
  /** A run that was not started by then is not started any more. */
  maxEventAgeSeconds: number;
  retry: RetryPolicy;
  /** Whether its process may be started again for the same event. */
  idempotent: boolean;
  concurrency: ConcurrencyRule[];
  /** Null: they begin as soon as its concurrency lets them. */
  throttle: ThrottleRule | null;
  /** Not both of them: how its events gather; null: each runs by itself. */
  debounce: Debounce | null;
  batch: Batching | null;
  /** Whether a run is of the version that is active when it is admitted, and not of the one that its event was accepted for. */
  lateBinding: boolean;
  /** 0 … 9: a run is ahead of those that were accepted up to so many minutes before it, within its key. */
  priority: number;
  network: { egress: Egress };
  cpus: number | null;
  memoryMib: number | null;
  result: { maxBytes: number };
  artifacts: { globs: string[]; maxBytes: number };
  /** Of each stream. */
  logBytes: number;
  /** Webhook endpoints that are told of the end of its runs, whatever types they ask for; null: none is. */
  destinations: { onSuccess: string | null; onFailure: string | null };
  retentionDays: number;
  /** What a run that failed leaves of its sandbox, and for how long. Absent: nothing. */
  keep?: { onFailure: 'disk'; days: number };
  /** What its process changed in the file system is told. Absent: it is not. */
  diff?: true;
  /** What becomes of a run whose process waits. Absent: DEFAULT_WAIT. */
  wait?: WaitSpec;
}

/** `paused`: events are accepted, and none is started. `draining`: none is accepted, and it goes when its runs have ended. */
export const FUNCTION_STATES = ['active', 'paused', 'draining'] as const;
type FunctionState = (typeof FUNCTION_STATES)[number];

export interface FunctionRecord {
  project: string;
  name: string;
  state: FunctionState;
  /** The version that events are accepted for. */
  activeVersion: number;
  /** Until then none of its runs is admitted: there was no room. ISO 8601; null: they are. */
  fullUntil: string | null;
  createdBy: Actor;
  createdAt: string;
  updatedAt: string;
}

/** What was deployed; nothing of it changes any more. */
export interface FunctionVersion {
  project: string;
  function: string;
  /** 1, 2, 3 … */
  version: number;
  /** SHA-256 of `spec` in canonical JSON: the same content is the same version. Hex. */
  digest: string;
  spec: FunctionSpec;
  createdBy: Actor;
  createdAt: string;
}

const FUNCTION_NAME = /^[a-z][a-z0-9-]{0,62}$/;
export const FUNCTION_NAME_PATTERN = FUNCTION_NAME.source;

export function isFunctionName(text: string): boolean {
  return FUNCTION_NAME.test(text);
}
