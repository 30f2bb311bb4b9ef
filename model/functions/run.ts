import { sha256 } from '@noble/hashes/sha2.js';
import { utf8ToBytes } from '@noble/hashes/utils.js';
import { commandIdFrom, ID_BYTES, runIdFrom, sandboxIdFrom } from '../ids.ts';
import { LIMITS } from '../limits.ts';
import type { Actor } from '../sandbox/sandbox.ts';
import type { ScheduledFor } from '../schedules/schedule.ts';
import type { UsedSecret } from '../secrets/secret.ts';
import type { RunWaiting } from '../waitpoints/waiting.ts';
import type { Cleanup, RunFailure, RunOutcome, RunState, Skip, Wait } from './run-state.ts';
import type { KeptFailure, RunDiff } from './traces.ts';

/** One sandbox, and at most one started process. */
export interface Attempt {
  /** 1, 2, 3 … */
  n: number;
  sandboxId: string;
  commandId: string;
  begunAt: string;
  /** When its process was started, corrected by what its guest's clock differs. */
  startedAt: string | null;
  endedAt: string | null;
  outcome: RunOutcome | null;
  exitCode: number | null;
  signal: string | null;
  failure: RunFailure | null;
  cleanup: Cleanup;
  /** Of those that it was given, which versions. */
  secrets: UsedSecret[];
}

/** Which event it is, of the context attributes of CloudEvents. */
interface EventIdentity {
  id: string;
  source: string;
  type: string;
  /** RFC 3339; null: its producer gave none. */
  time: string | null;
}

/** An event that a run has beside others, or in place of others, and the run by which it was accepted. */
export interface GatheredEvent extends EventIdentity {
  runId: string;
  bytes: number;
}

/** How long events of a key gather before one of them runs, or all at once. */
export type Gathering =
  | { kind: 'debounce'; periodMs: number; maxWaitMs: number }
  | { kind: 'batch'; maxSize: number; maxWaitMs: number };

/** The result as it was fetched; its bytes are kept apart. */
export interface RunResult {
  contentType: string;
  bytes: number;
  /** SHA-256, hex. */
  digest: string;
  /** It is not the result, but what was there of one when the process did not succeed. */
  partial: boolean;
}

export interface RunArtifact {
  /** Below the folder of artifacts. */
  path: string;
  bytes: number;
  /** SHA-256, hex. */
  digest: string;
  /** What of it is not as it was, of a file that changed while it was read. */
  note?: string;
}

/**
 * One event for one version of a function. Inserted by the API; from its admission on written by its workflow alone. Before
 * that whoever changes it compares and sets its state.
 */
export interface RunRecord {
  id: string;
  project: string;
  function: string;
  version: number;
  /** Of the version, which another of that number would not have. */
  versionDigest: string;
  state: RunState;
  cleanup: Cleanup;
  waitingFor: Wait | null;
  outcome: RunOutcome | null;
  /** Null: its outcome is another. */
  skippedFor: Skip | null;
  /** The run that took its place; null: none did. */
  supersededBy: string | null;
  exitCode: number | null;
  signal: string | null;
  failure: RunFailure | null;
  event: EventIdentity;
  eventBytes: number;
  /** SHA-256 of what was sent, hex: the same event with another is a conflict. */
  eventDigest: string;
  /** The values of the keys of its concurrency rules, as they are compared; null: the rule has none. */
  keys: (string | null)[];
  /** The same of its throttle. */
  throttleKey: string | null;
  /** Of those with the same one comes after another, in the order in which they were accepted; null: of all without any. */
  lane: string | null;
  /** How its event gathers with others; null: it does not. */
  gathering: Gathering | null;
  /** The value of the key by which it gathers. */
  gatheringKey: string | null;
  /** Those that gathered, its own among them: in whose place it is, or which it has; empty: its own event alone. */
  events: GatheredEvent[];
  /** It has no event of its own, but all of `events`. */
  isBatch: boolean;
  /** The run that has its event together with others; null: it has it itself. */
  batch: string | null;
  /** Its version is the active one when it is admitted. */
  lateBinding: boolean;
  priority: number;
  /** Another event with the same is the same, hex. */
  dedupe: string;
  /** How many of the same there were before it, whose time is over. */
  epoch: number;
  dedupeUntil: string;
  acceptedAt: string;
  /** Among those that one process accepted in the same millisecond, the first first. */
  seq: number;
  /** Not before; null: at once. */
  dueAt: string | null;
  /** When it expires unless its process is started. */
  expiresAt: string;
  admittedAt: string | null;
  startedAt: string | null;
  endedAt: string | null;
  updatedAt: string;
  /** How long it is kept when it has ended. */
  retentionDays: number;
  attempts: Attempt[];
  /** Sandboxes that were begun for it: each has an id of its own. */
  tries: number;
  /** The member of a pool that the attempt under way has asked for, or has. Null, or absent: none. */
  member?: string | null;
  /** Those that attempts had. Absent: none. */
  members?: string[];
  /** Of those, how many ended before its process was started, for another reason than room. */
  failedStarts: number;
  result: RunResult | null;
  artifacts: RunArtifact[];
  /** Which time of which schedule it is of; null, or absent: of none. */
  schedule?: ScheduledFor | null;
  /** Of one that failed, where its function keeps that. Null, or absent: nothing was to be, or it is not known yet. */
  kept?: KeptFailure | null;
  /** What its process changed, where its function has `diff`. Null, or absent: nobody wants to know, or it is not known yet. */
  diff?: RunDiff | null;
  /** How its process waits for waitpoints. Null, or absent: it has not waited. */
  waiting?: RunWaiting | null;
  cancelledBy: Actor | null;
  createdBy: Actor & { project: string };
  /** The run whose event it has, or had before that was edited; null: its event came by itself. */
  replayOf: string | null;
  /** The dead letter in whose place it is; null: it is in none. */
  redriveOf: string | null;
  /** Of a dead letter: the run in its place, of which there is never another; null: it has none. */
  redrivenAs: string | null;
}

/**
 * Where a run begins. One that is not checked stands in its place among those of its key, which come one after another; where
 * there is none, or events gather, it is in nobody's way until it is.
 * @param now ISO 8601
 */
export function beginningOf(
  { gathering, dueAt, lane }: Pick<RunRecord, 'gathering' | 'dueAt' | 'lane'>,
  { isChecked, now }: { isChecked: boolean; now: string },
): Pick<RunRecord, 'state' | 'waitingFor'> {
  const isDelayed = dueAt !== null && dueAt > now;
  const isAside = isDelayed || gathering !== null || (!isChecked && lane === null);
  const waitingFor = isChecked ? (!isDelayed && gathering?.kind) || null : 'check';
  return { state: isAside ? 'delayed' : 'queued', waitingFor };
}

/** What was accepted and is not admitted yet: how many runs, and what their events count together. */
export interface Waiting {
  runs: number;
  bytes: number;
}

/** Media type of the event as its process has it: of a batch a list of events. */
export function eventMediaType({ isBatch }: Pick<RunRecord, 'isBatch'>): string {
  return isBatch ? 'application/cloudevents-batch+json' : 'application/cloudevents+json';
}

/** Whether an event of that size is kept by itself, and not in the document of its run. */
export function isLargeEvent(bytes: number): boolean {
  return bytes > LIMITS.functions.inlineEventBytes;
}

/**
 * What events count in the limit of what waits: what may be in a run's document each, so that they need only be counted, and those
 * that are kept by themselves their size besides. Bytes.
 */
export function countedBytes(runs: number, largeBytes: number): number {
  return runs * LIMITS.functions.inlineEventBytes + largeBytes;
}

/** Of a run whose event came by itself. */
export const NO_ORIGIN = { replayOf: null, redriveOf: null } as const;

/** After these nobody need do anything more about the event. */
const SETTLED: readonly RunOutcome[] = ['succeeded', 'cancelled', 'skipped'];

/** Whether a run that ended so is a dead letter, until it is redriven. */
export function isUnsettled(outcome: RunOutcome): boolean {
  return !SETTLED.includes(outcome);
}

export function isDeadLetter({
  state,
  outcome,
  redrivenAs,
}: Pick<RunRecord, 'state' | 'outcome' | 'redrivenAs'>): boolean {
  return state === 'ended' && outcome !== null && isUnsettled(outcome) && redrivenAs === null;
}

/**
 * The id of a run: made of what makes two events the same. Those of one event are a chain without a gap, from `epoch` 0 on: so
 * the first of them that is not there is the next, and a run is kept for as long as the one behind it.
 */
export function runIdOf(dedupe: string, epoch: number): string {
  return runIdFrom(sha256(utf8ToBytes(`${dedupe}/${epoch}`)).slice(0, ID_BYTES));
}

/**
 * The ids of an attempt, made before anything of it is: so whoever goes on with it finds what there is.
 * @param tries how many sandboxes were begun for the run, this among them
 */
export function attemptIds(runId: string, tries: number): Pick<Attempt, 'sandboxId' | 'commandId'> {
  const bytes = (what: string) => sha256(utf8ToBytes(`${runId}/${tries}/${what}`)).slice(0, ID_BYTES);
  return { sandboxId: sandboxIdFrom(bytes('sandbox')), commandId: commandIdFrom(bytes('command')) };
}

export function lastAttempt({ attempts }: Pick<RunRecord, 'attempts'>): Attempt | null {
  return attempts.at(-1) ?? null;
}

/** Its event is too old to be begun. */
export function isExpired({ expiresAt }: Pick<RunRecord, 'expiresAt'>): boolean {
  return Date.parse(expiresAt) <= Date.now();
}
