import { createHash, randomBytes } from 'node:crypto';
import { MayflyError } from '../../model/errors.ts';
import type { ReceivedEvent } from '../../model/events/cloud-event.ts';
import { deriveRunId, getInitialState, isLargeEvent, NO_ORIGIN, type RunRecord } from '../../model/functions/run.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import type { ScheduledFor } from '../../model/schedules/schedule.ts';
import { steadyClock } from '../../model/steady-clock.ts';
import type { ProjectStore } from '../../store/project-store.ts';
import type { InputSchemas } from '../schema/input-schemas.ts';
import { type CachedFunction, gatheringOf, type QueueKeys, queueKeysOf } from './function-cache.ts';
import { assertFitsSchema, checkWithin } from './schema-check.ts';

/** Dedupe key of an event, and its kind, which sets its period. */
export interface DedupeKey {
  by: keyof typeof LIMITS.functions.dedupeHours;
  /** Null: never a duplicate. */
  text: string | null;
  /** True when the sender's own id decides: a retry may differ in content. `@default` false */
  isSenders?: boolean;
}

export interface IncomingEvent {
  event: ReceivedEvent;
  sameness: DedupeKey;
  /** SHA-256 of the sent bytes, hex. */
  digest: string;
  delaySeconds?: number | undefined;
  /** `@default` none */
  schedule?: ScheduledFor | undefined;
  /** Reports whether the backlog, or that of its lane, is full: then only duplicates are taken. `@default` never */
  isFull?: (lane: string | null) => boolean;
  /** Limit of the wait for the schema check, ms; a later check happens before the run is admitted. `@default` none */
  checkMs?: number;
  /** Origin of a replay or redrive. */
  origin?: Pick<RunRecord, 'replayOf' | 'redriveOf'>;
  actor: Actor;
}

export interface IngestResult {
  run: RunRecord;
  /** False for a duplicate. */
  isNew: boolean;
}

/** Queue keys, and whether the schema check has passed; else it is due. */
type CheckedQueueKeys = QueueKeys & { isChecked: boolean };

const HOUR_MS = 3_600_000;
let sequence = 0;
const NOTHING_YET = {
  cleanup: 'none',
  waitingFor: null,
  outcome: null,
  skippedFor: null,
  supersededBy: null,
  exitCode: null,
  signal: null,
  failure: null,
  admittedAt: null,
  startedAt: null,
  endedAt: null,
  attempts: [],
  tries: 0,
  failedStarts: 0,
  result: null,
  artifacts: [],
  isBatch: false,
  batch: null,
  cancelledBy: null,
  redrivenAs: null,
} as const;

/**
 * Stores an event as a run. Its id is derived from the dedupe key: of many concurrent duplicates, in any processes, one
 * is stored, and all return it.
 * @throws MayflyError event_conflict, idempotency_key_reused, event_too_large, event_invalid, schema_too_slow,
 *   key_invalid, queue_full
 */
export async function ingestEvent(
  { runs, runContents, gatheredRuns }: Pick<ProjectStore, 'runs' | 'runContents' | 'gatheredRuns'>,
  schemas: InputSchemas,
  { record, version }: CachedFunction,
  arrival: IncomingEvent,
): Promise<IngestResult> {
  const { event, digest, sameness } = arrival;
  const { project, name } = record;
  const dedupe = sha256(JSON.stringify([project, name, sameness.by, sameness.text ?? randomBytes(16).toString('hex')]));
  let fitting: CheckedQueueKeys;
  try {
    fitting = await checkAndKey(schemas, version, arrival);
  } catch (error) {
    const run = await findDuplicate(runs, dedupe, arrival);
    if (run) return { run, isNew: false };
    throw error;
  }
  const isFull = arrival.isFull?.(fitting.lane) ?? false;
  const isInline = !isLargeEvent(event.json.length);
  for (let epoch = 0; ; ) {
    const id = deriveRunId(dedupe, epoch);
    const present = isInline && !isFull ? null : await runs.get(id);
    const run = present ?? runOf(id, { record, version }, arrival, { ...fitting, dedupe, epoch });
    if (!present) {
      if (isFull) throw queueFull(project);
      if (!isInline) await runContents.put(id, `event/${digest}`, event.json);
      if (await runs.accept(run, isInline ? event.json : null)) {
        if (run.waitingFor === 'batch') await gatheredRuns.wakeIfFull(run, version.spec.batch?.maxSize ?? 1);
        return { run, isNew: true };
      }
    }
    const found = present ?? (await runs.get(id));
    if (!found) continue; // it was removed in between: its id is free
    if (isSame(found, dedupe)) return { run: assertSamePayload(found, arrival), isNew: false };
    epoch += 1;
  }
}

/**
 * Returns the run of an earlier duplicate, even when the event fails the checks now; null when there is none. @throws
 * MayflyError event_conflict, idempotency_key_reused
 */
async function findDuplicate(
  runs: Pick<ProjectStore['runs'], 'get'>,
  dedupe: string,
  arrival: IncomingEvent,
): Promise<RunRecord | null> {
  if (arrival.sameness.text === null) return null;
  for (let epoch = 0; ; epoch++) {
    const found = await runs.get(deriveRunId(dedupe, epoch));
    if (!found) return null;
    if (isSame(found, dedupe)) return assertSamePayload(found, arrival);
  }
}

function isSame(run: RunRecord, dedupe: string): boolean {
  return run.dedupe === dedupe && Date.parse(run.dedupeUntil) > steadyClock.now();
}

/** Checks that a duplicate has the same content. @throws MayflyError event_conflict, idempotency_key_reused */
function assertSamePayload(run: RunRecord, { digest, sameness }: IncomingEvent): RunRecord {
  if (sameness.isSenders || run.eventDigest === digest) return run;
  throw conflictOf(sameness, run);
}

function queueFull(project: string): MayflyError {
  const why = `As many runs of ${project}, or of its key, wait as may, or their events are as large together.`;
  return new MayflyError('queue_full', why, { retryAfterSeconds: 10 });
}

function conflictOf({ by }: DedupeKey, { id }: RunRecord): MayflyError {
  if (by !== 'event') return new MayflyError('idempotency_key_reused', `${id} is of another event with that key.`);
  return new MayflyError('event_conflict', `${id} is of another event with that source and id.`);
}

function runOf(
  id: string,
  { record, version }: CachedFunction,
  { event, digest, sameness, delaySeconds = 0, schedule, origin = NO_ORIGIN, actor }: IncomingEvent,
  { isChecked, dedupe, epoch, ...keys }: CheckedQueueKeys & Pick<RunRecord, 'dedupe' | 'epoch'>,
): RunRecord {
  const now = steadyClock.now();
  const at = new Date(now).toISOString();
  const due = now + delaySeconds * 1_000;
  const after = (from: number, ms: number) => new Date(from + ms).toISOString();
  const { id: eventId, source, type, time = null } = event.attributes;
  const dueAt = delaySeconds > 0 ? after(due, 0) : null;
  const gathering = gatheringOf(version.spec);
  return {
    ...NOTHING_YET,
    ...origin,
    attempts: [],
    artifacts: [],
    id,
    project: record.project,
    function: record.name,
    version: version.version,
    versionDigest: version.digest,
    ...getInitialState({ gathering, dueAt, lane: keys.lane }, { isChecked, now: at }),
    event: { id: eventId, source, type, time },
    eventBytes: event.json.length,
    eventDigest: digest,
    ...keys,
    gathering,
    events: [],
    lateBinding: version.spec.lateBinding,
    priority: version.spec.priority,
    dedupe,
    epoch,
    dedupeUntil: after(now, LIMITS.functions.dedupeHours[sameness.by] * HOUR_MS),
    acceptedAt: at,
    seq: sequence++ % 1_000_000,
    dueAt,
    expiresAt: after(due, version.spec.maxEventAgeSeconds * 1_000),
    updatedAt: at,
    retentionDays: version.spec.retentionDays,
    schedule: schedule ?? null,
    createdBy: actor,
  };
}

/**
 * Checks an event, and returns its queue keys.
 * @throws MayflyError event_too_large, event_invalid, schema_too_slow, key_invalid, too_many_requests
 */
async function checkAndKey(
  schemas: InputSchemas,
  version: CachedFunction['version'],
  { event, checkMs }: IncomingEvent,
): Promise<CheckedQueueKeys> {
  const { spec, function: name } = version;
  const bytes = event.json.length;
  if (bytes > spec.input.maxBytes) {
    throw new MayflyError('event_too_large', `It has ${bytes} bytes; ${name} takes ${spec.input.maxBytes}.`);
  }
  let isChecked = true;
  if (checkMs === undefined) await assertFitsSchema(schemas, version, event);
  else isChecked = await checkWithin(checkMs, schemas, version, event);
  return { ...queueKeysOf(spec, event), isChecked };
}

export function sha256(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
