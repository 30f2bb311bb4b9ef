import { MayflyError } from '../../model/errors.ts';
import { readAttributes } from '../../model/events/attributes.ts';
import { eventAround } from '../../model/events/binary-mode.ts';
import type { ReceivedEvent } from '../../model/events/cloud-event.ts';
import type { FunctionRecord, FunctionVersion } from '../../model/functions/function.ts';
import { type RunRecord, UNDER_WAY, WAITING } from '../../model/functions/run.ts';
import { LIMITS } from '../../model/limits.ts';
import type { OwnedActor } from '../../model/sandbox/sandbox.ts';
import { meantTime } from '../../model/schedules/clock-changes.ts';
import {
  type MissedReason,
  type ScheduledFor,
  type ScheduleRecord,
  type ScheduleSpec,
  scheduleSourceOf,
  specAt,
} from '../../model/schedules/schedule.ts';
import { isTriggerTime, timeOfWorkflow, triggerTimeOf } from '../../model/schedules/schedule-saga.ts';
import { type Occurrence, timeAt, timesBetween } from '../../model/schedules/times.ts';
import type { Reconciliation } from '../../sagas/reconciliation.ts';
import type { Store } from '../../store/connect.ts';
import { type ProjectStore, storeOf } from '../../store/project-store.ts';

/** Accepts an event as every door does. */
export type AcceptEvent = (
  store: ProjectStore,
  target: { record: FunctionRecord; version: FunctionVersion },
  arrival: {
    event: ReceivedEvent;
    sameness: { by: 'event'; text: string };
    digest: string;
    schedule: ScheduledFor;
    actor: OwnedActor;
  },
) => Promise<{ run: RunRecord; isNew: boolean }>;

interface Deps {
  store: Store;
  reconciliation: Reconciliation;
  acceptEvent: AcceptEvent;
  /** SHA-256, hex. */
  digestOf: (text: string) => string;
}

interface Fired {
  project: string;
  name: string;
  workflowId: string;
}

/** What a fired time is: one of the schedule's, or a trigger. */
type Due = DueTime | { missed: MissedReason; time: NotedTime } | null;
interface DueTime {
  time: NotedTime;
  eventId: string;
  /** Which held of the schedule then. */
  spec: ScheduleSpec;
}
type NotedTime = Pick<Occurrence, 'at' | 'localTime'> & { triggerId: string | null };

const DAY_MS = 86_400_000;
/** Of which a schedule that pauses on failure is not paused. */
const NO_FAILURES: readonly string[] = ['succeeded', 'cancelled', 'skipped'];

/** What the workflow of one time of a schedule asks of the store. */
export function createScheduledActivities({ store, reconciliation, acceptEvent, digestOf }: Deps) {
  /** What becomes of it is written down, whatever was thought of it before. */
  async function noted(
    { project, name }: ScheduleRecord,
    { at, localTime, triggerId }: NotedTime,
    became: { runId: string } | { reason: MissedReason; detail?: string },
  ): Promise<void> {
    const ran = 'runId' in became;
    const now = Date.now();
    await store.scheduleTimes.put(
      {
        project,
        schedule: name,
        at: new Date(at).toISOString(),
        localTime,
        triggerId,
        state: ran ? 'ran' : 'missed',
        reason: ran ? null : became.reason,
        detail: ran ? null : (became.detail ?? null),
        runId: ran ? became.runId : null,
        recordedAt: new Date(now).toISOString(),
      },
      new Date(now + LIMITS.functions.schedules.timesDays * DAY_MS).toISOString(),
    );
  }

  async function accept(record: ScheduleRecord, due: DueTime, workflowId: string) {
    const { project, name } = record;
    const ref = { project, name: due.spec.function };
    const found = await store.functions.get(ref);
    const version = found && (await store.functionVersions.get(ref, found.activeVersion));
    if (!found || !version) throw new MayflyError('function_not_found', `There is no function ${ref.name}.`);
    if (found.state === 'draining') throw new MayflyError('function_draining', `${ref.name} is being deleted.`);
    const nominalAt = new Date(due.time.at).toISOString();
    const event = eventOf(record, { ...due, nominalAt });
    const { source, id } = event.attributes;
    const { run } = await acceptEvent(
      storeOf(store, { project, isOperator: false }),
      { record: found, version },
      {
        event,
        sameness: { by: 'event', text: JSON.stringify([source, id]) },
        digest: digestOf(`${source} ${id}`), // when it fired is none of what makes it another
        schedule: { name, nominalAt, workflowId },
        actor: record.createdBy,
      },
    );
    if (found.state !== 'paused') await reconciliation.ensureDispatcher(ref);
    return run;
  }

  /** @param fired when Temporal says that it fired, milliseconds since 1970 */
  function dueOf(record: ScheduleRecord, fired: number): Due {
    if (isTriggerTime(fired)) {
      const ask = Object.values(record.asks).find((each) => each.kind === 'trigger' && triggerTimeOf(each) === fired);
      if (!ask) return null; // it was begun twice for one
      const time = { at: Date.parse(ask.at), localTime: ask.at, triggerId: ask.id };
      return { time, eventId: `${record.name}/trigger/${ask.id}`, spec: record };
    }
    const spec = specAt(record, fired);
    const found = timeAt(spec, meantTime(spec, fired));
    if (!found) return null;
    const time = { ...found, triggerId: null };
    if (!found.isRun) return { missed: 'repeat', time };
    if (isPausedAt(record, found.at) && !isBackfilled(record, found.at)) return { missed: 'paused', time };
    const isFirst = spec.dst.repeat === 'first' && spec.cron !== null;
    const eventId = `${record.name}/${isFirst ? found.localTime : new Date(found.at).toISOString()}`;
    return { time, eventId, spec };
  }

  /** Whether a later time, or somebody, wants this one's run to end: one that the clocks have again does not. */
  function isToEnd(record: ScheduleRecord | null, workflowId: string, run: RunRecord): boolean {
    const fired = Date.parse(timeOfWorkflow(workflowId) ?? '');
    if (!record || Number.isNaN(fired)) return true;
    const at = isTriggerTime(fired) ? Date.parse(run.acceptedAt) : meantTime(record, fired);
    if (Object.values(record.asks).some(({ sentAt }) => sentAt !== null)) return true;
    for (const { isRun } of timesBetween(record, at, Date.now())) if (isRun) return true;
    return false;
  }

  async function cancel({ id, createdBy, retentionDays }: RunRecord): Promise<void> {
    const at = new Date().toISOString();
    const ended = { outcome: 'cancelled', cancelledBy: createdBy, endedAt: at, updatedAt: at } as const;
    if (await store.runs.end(id, WAITING, ended, retentionDays)) return;
    if (await store.runs.change(id, UNDER_WAY, { cancelledBy: createdBy, updatedAt: at })) {
      await reconciliation.cancelRun(id, createdBy);
    }
  }

  return {
    /** Accepts the event of a time that Temporal has fired. @returns its run; null: there is to be none */
    async acceptScheduled({ project, name, workflowId }: Fired): Promise<{ runId: string | null }> {
      const record = await store.schedules.get({ project, name });
      const at = timeOfWorkflow(workflowId);
      if (!record || record.deletedAt !== null || at === null) return { runId: null };
      const due = dueOf(record, Date.parse(at));
      if (!due) return { runId: null };
      if ('missed' in due) {
        await noted(record, due.time, { reason: due.missed });
        return { runId: null };
      }
      try {
        const { id } = await accept(record, due, workflowId);
        await noted(record, due.time, { runId: id });
        return { runId: id };
      } catch (error) {
        if (!(error instanceof MayflyError) || !REFUSALS.has(error.code)) throw error;
        await noted(record, due.time, { reason: 'refused', detail: `${error.code}: ${error.message}` });
        return { runId: null };
      }
    },

    /** Whether nothing of a run is left; of one that is overlapped it sees to that. */
    async followScheduled({
      project,
      name,
      workflowId,
      runId,
      isOverlapped,
    }: Fired & { runId: string; isOverlapped: boolean }): Promise<{ isOver: boolean; isPausing: boolean }> {
      const run = await store.runs.get(runId);
      if (!run) return { isOver: true, isPausing: false };
      const record = await store.schedules.get({ project, name });
      const isOver = run.state === 'ended' && run.cleanup !== 'pending';
      const isOwn = run.schedule?.workflowId === workflowId;
      if (!isOver) {
        if (isOverlapped && isOwn && run.cancelledBy === null && isToEnd(record, workflowId, run)) await cancel(run);
        return { isOver, isPausing: false };
      }
      const isFailure = isOwn && run.outcome !== null && !NO_FAILURES.includes(run.outcome);
      if (!record?.pauseOnFailure || !isFailure) return { isOver, isPausing: false };
      const at = new Date().toISOString();
      const paused = { pausedAt: at, pauseReason: `${runId} is ${run.outcome}`, lookAt: at, updatedAt: at };
      await store.schedules.change(record, paused, { pausedAt: null });
      return { isOver, isPausing: true };
    },
  };
}

export type ScheduledActivities = ReturnType<typeof createScheduledActivities>;

/** They stay: the function is to be mended first. */
const REFUSALS: ReadonlySet<string> = new Set([
  'function_not_found',
  'function_draining',
  'event_invalid',
  'event_too_large',
  'event_conflict',
  'key_invalid',
  'schema_too_slow',
  'invalid_event',
]);

function eventOf(
  record: ScheduleRecord,
  { time: { localTime }, spec, eventId, nominalAt }: DueTime & { nominalAt: string },
): ReceivedEvent {
  const { type, subject, data } = spec.event;
  const attributes = readAttributes([
    ['specversion', '1.0'],
    ['id', eventId],
    ['source', scheduleSourceOf(record)],
    ['type', type],
    ['time', nominalAt],
    ['datacontenttype', 'application/json'],
    ...(subject === null ? [] : [['subject', subject] as const]),
    ['localtime', localTime],
    ['firedtime', new Date().toISOString()],
  ]);
  return eventAround(attributes, new TextEncoder().encode(data ?? ''));
}

function isPausedAt({ pausedAt, pauses }: ScheduleRecord, at: number): boolean {
  if (pausedAt !== null && at >= Date.parse(pausedAt)) return true;
  return pauses.some(({ from, to }) => at >= Date.parse(from) && at < Date.parse(to));
}

function isBackfilled({ asks }: ScheduleRecord, at: number): boolean {
  return Object.values(asks).some(
    ({ kind, from, to }) => kind === 'backfill' && at >= Date.parse(from ?? '') && at <= Date.parse(to ?? ''),
  );
}
