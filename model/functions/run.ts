import { z } from 'zod';
import { actor, displayFailure, encryptedField, failure, instant, optional } from '../fields.ts';
import { commandIdFrom, deriveIdBytes, runIdFrom, sandboxIdFrom } from '../ids.ts';
import { LIMITS } from '../limits.ts';
import { usedSecret } from '../secrets/secret.ts';
import { runWaiting } from '../waitpoints/waiting.ts';
import { CLEANUPS, isDeadLetterOutcome, PENDING_REASONS, RUN_OUTCOMES, RUN_STATES, SKIPS } from './run-state.ts';

const attempt = z.object({
  n: z.int(),
  sandboxId: z.string(),
  commandId: z.string(),
  begunAt: instant,
  startedAt: instant.nullable().describe("When its process was started, corrected by what its guest's clock differs"),
  endedAt: instant.nullable(),
  outcome: z.enum(RUN_OUTCOMES).nullable(),
  exitCode: z.int().nullable(),
  signal: z.string().nullable(),
  failure: failure.nullable(),
  cleanup: z.enum(CLEANUPS).describe('The sandbox has the proof'),
  secrets: z.array(usedSecret).describe('Which versions of its secrets it was given'),
});
/** Attempt of a run: one sandbox, and at most one started process. */
export type Attempt = z.infer<typeof attempt>;

const eventIdentity = z.object({
  id: z.string(),
  source: z.string(),
  type: z.string(),
  time: z.string().nullable().describe('RFC 3339; null: its producer gave none'),
});

const gatheredEvent = eventIdentity.extend({
  runId: z.string().describe('The run by which it was accepted'),
  bytes: z.int(),
});
/** Event that a run handles together with others, or on behalf of others. */
export type GatheredEvent = z.infer<typeof gatheredEvent>;

const gathering = z.union([
  z.object({ kind: z.literal('debounce'), periodMs: z.int(), maxWaitMs: z.int() }),
  z.object({ kind: z.literal('batch'), maxSize: z.int(), maxWaitMs: z.int() }),
]);
/** Rule by which the events of a key wait for a debounce or a batch. */
export type Gathering = z.infer<typeof gathering>;

const runResult = z.object({
  contentType: z.string(),
  bytes: z.int(),
  digest: z.string().describe('SHA-256, hex'),
  partial: z.boolean().describe('Left by a process that did not succeed'),
});
/** Metadata of a collected result; its bytes are stored separately. */
export type RunResult = z.infer<typeof runResult>;

const runArtifact = z.object({
  path: z.string().describe('Below the folder of artifacts'),
  bytes: z.int(),
  digest: z.string().describe('SHA-256, hex'),
  note: optional(z.string()).describe('What of it is not as it was: it changed while it was read'),
});
export type RunArtifact = z.infer<typeof runArtifact>;

const retainedFailure = z.object({
  snapshotId: z.string().nullable(),
  until: instant.nullable().describe('It is deleted then'),
  goneAt: instant.nullable().describe('When it was deleted, then or before; null: it is there'),
  failure: failure.nullable().describe('Why there is no snapshot'),
});
/** Retained disk snapshot of a failed run's sandbox, or the reason why there is none. */
export type RetainedFailure = z.infer<typeof retainedFailure>;

const runDiff = z.object({
  bytes: z
    .int()
    .nullable()
    .describe('Of the changes, a JSON text a line; null: there are none, and `failure` says why'),
  digest: z.string().nullable().describe('SHA-256 of the same, hex'),
  counts: z.object({ added: z.int(), changed: z.int(), removed: z.int(), renamed: z.int() }).nullable(),
  failure: failure.nullable().describe('Why it is not known'),
});
/** Summary of a process's file changes; the changes are stored separately. */
export type RunDiff = z.infer<typeof runDiff>;

const keyValue = z.string().nullable();

/**
 * Run of one event by one version of a function. Inserted by the API; after its admission only its workflow writes it.
 * Before that, writers compare and set its state.
 */
export const runRecord = z.object({
  id: z.string(),
  project: z.string(),
  function: z.string(),
  version: z.int(),
  versionDigest: z.string().describe('Of the version, which another of that number would not have'),
  state: z.enum(RUN_STATES),
  cleanup: z.enum(CLEANUPS).describe('`proved`: nothing of its machines is left'),
  waitingFor: z.enum(PENDING_REASONS).nullable().describe('Why it is no further'),
  outcome: z.enum(RUN_OUTCOMES).nullable().describe('Written once'),
  skippedFor: z
    .enum(SKIPS)
    .nullable()
    .describe(
      '`singleton`: others of its key were under way. `superseded`: a newer one took its place. `rate`: it came too soon after others',
    ),
  supersededBy: z.string().nullable().describe('The run that took its place'),
  exitCode: z.int().nullable(),
  signal: z.string().nullable(),
  failure: displayFailure().nullable(),
  event: encryptedField(eventIdentity),
  eventBytes: z.int(),
  eventDigest: z.string().describe('SHA-256 of what was sent, hex: the same event with another is a conflict'),
  keys: encryptedField(z.array(keyValue)).describe(
    'The values of the keys of its concurrency rules, as they are compared; null: the rule has none',
  ),
  throttleKey: encryptedField(z.string()).nullable().describe('The same of its throttle'),
  lane: encryptedField(z.string())
    .nullable()
    .describe('Of those with the same one comes after another, in the order of acceptance; null: of all without any'),
  gathering: gathering.nullable().describe('How its event gathers with others; null: it does not'),
  gatheringKey: encryptedField(z.string()).nullable().describe('The value of the key by which it gathers'),
  events: encryptedField(z.array(gatheredEvent)).describe(
    'Of a batch, those that it has; of a debounced run, those that it stands for, with its own; else none',
  ),
  isBatch: z.boolean().describe('It has no event of its own, but all of `events`'),
  batch: z.string().nullable().describe('The run that has its event, together with others'),
  lateBinding: z.boolean().describe('Its version is the active one when it is admitted'),
  priority: z.int(),
  dedupe: z.string().describe('Another event with the same is the same, hex'),
  epoch: z.int().describe('How many of the same there were before it, whose time is over'),
  dedupeUntil: instant,
  acceptedAt: instant,
  seq: z.int().describe('Among those that one process accepted in the same millisecond, the first first'),
  dueAt: instant.nullable().describe('Not before; null: at once'),
  expiresAt: instant.describe('When it expires, unless its process is started before'),
  admittedAt: instant.nullable(),
  startedAt: instant.nullable(),
  endedAt: instant.nullable(),
  updatedAt: instant,
  retentionDays: z.int().describe('How long it is kept when it has ended'),
  attempts: encryptedField(z.array(attempt)).describe('Each a sandbox of its own, and at most one started process'),
  tries: z.int().describe('Sandboxes that were begun for it: each has an id of its own'),
  member: optional(z.string().nullable()).describe(
    'Member of a pool that the attempt under way has asked for, or has. Null, or absent: none',
  ),
  members: optional(z.array(z.string())).describe('Members that attempts had. Absent: none'),
  failedStarts: z.int().describe('Sandboxes that ended before its process was started, for another reason than room'),
  result: encryptedField(runResult).nullable(),
  artifacts: encryptedField(z.array(runArtifact)),
  schedule: optional(z.object({ name: z.string(), nominalAt: instant }).nullable()).describe(
    'Which time of which schedule it is of',
  ),
  kept: optional(encryptedField(retainedFailure).nullable()).describe(
    'Of one that failed, the disks of its sandbox, where its function has `keep`',
  ),
  diff: optional(encryptedField(runDiff).nullable()).describe(
    'What its process changed in the file system, where its function has `diff`',
  ),
  waiting: optional(runWaiting.nullable()).describe(
    'How its process waits for waitpoints. Null, or absent: it has not waited',
  ),
  cancelledBy: actor.nullable(),
  createdBy: actor,
  replayOf: z.string().nullable().describe('The run whose event it has; its process is told'),
  redriveOf: z.string().nullable().describe('The dead letter in whose place it is'),
  redrivenAs: z.string().nullable().describe('Of a dead letter: the run in its place, of which there is never another'),
});
export type RunRecord = z.infer<typeof runRecord>;

/**
 * Returns the initial state of a run. An unvalidated run is queued within its lane, where runs keep their order;
 * without a lane, or while events are gathered, it is delayed until validated.
 * @param now ISO 8601
 */
export function getInitialState(
  { gathering, dueAt, lane }: Pick<RunRecord, 'gathering' | 'dueAt' | 'lane'>,
  { isChecked, now }: { isChecked: boolean; now: string },
): Pick<RunRecord, 'state' | 'waitingFor'> {
  const isDelayed = dueAt !== null && dueAt > now;
  const isAside = isDelayed || gathering !== null || (!isChecked && lane === null);
  const waitingFor = isChecked ? (!isDelayed && gathering?.kind) || null : 'check';
  return { state: isAside ? 'delayed' : 'queued', waitingFor };
}

/** Queued and delayed runs, with the counted size of their events. */
export interface Backlog {
  runs: number;
  bytes: number;
}

/** Media type of the event for its process; a batch gets a list of events. */
export function eventMediaType({ isBatch }: Pick<RunRecord, 'isBatch'>): string {
  return isBatch ? 'application/cloudevents-batch+json' : 'application/cloudevents+json';
}

/** True when an event of that size is stored outside the run's document. */
export function isLargeEvent(bytes: number): boolean {
  return bytes > LIMITS.functions.inlineEventBytes;
}

/**
 * Returns the bytes that events count against the backlog limit: a flat rate for each run, plus the size of events
 * stored separately.
 */
export function countBacklogBytes(runs: number, largeBytes: number): number {
  return runs * LIMITS.functions.inlineEventBytes + largeBytes;
}

/** Origin of a run that is neither a replay nor a redrive. */
export const NO_ORIGIN = { replayOf: null, redriveOf: null } as const;

export function isDeadLetter({
  state,
  outcome,
  redrivenAs,
}: Pick<RunRecord, 'state' | 'outcome' | 'redrivenAs'>): boolean {
  return state === 'ended' && outcome !== null && isDeadLetterOutcome(outcome) && redrivenAs === null;
}

/**
 * Derives a run's id from its dedupe key. Runs of the same key have consecutive epochs from 0: the first unused epoch
 * is the next, so a run is retained as long as its successor.
 */
export function deriveRunId(dedupe: string, epoch: number): string {
  return runIdFrom(deriveIdBytes(`${dedupe}/${epoch}`));
}

/**
 * Derives the ids of an attempt before anything is created, so that a retry finds its objects.
 * @param tries sandboxes of the run, including this one
 */
export function deriveAttemptIds(runId: string, tries: number): Pick<Attempt, 'sandboxId' | 'commandId'> {
  const bytes = (what: string) => deriveIdBytes(`${runId}/${tries}/${what}`);
  return { sandboxId: sandboxIdFrom(bytes('sandbox')), commandId: commandIdFrom(bytes('command')) };
}

export function getLastAttempt({ attempts }: Pick<RunRecord, 'attempts'>): Attempt | null {
  return attempts.at(-1) ?? null;
}

/** True when its event is too old to start. */
export function isExpired({ expiresAt }: Pick<RunRecord, 'expiresAt'>): boolean {
  return Date.parse(expiresAt) <= Date.now();
}
