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
  type ScheduleAsk,
  type ScheduledFor,
  type ScheduleRecord,
  scheduleSourceOf,
} from '../../model/schedules/schedule.ts';
import { timeOfWorkflow } from '../../model/schedules/schedule-saga.ts';
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

/** What a fired time is: one of the schedule's, or somebody's wish. */
type Due = { time: Occurrence; eventId: string } | { missed: MissedReason; time: Occurrence } | null;

const DAY_MS = 86_400_000;
/** Of which a schedule that pauses on failure is not paused. */
const NO_FAILURES: readonly string[] = ['succeeded', 'cancelled', 'skipped'];

/** What the workflow of one time of a schedule asks of the store. */
export function createScheduledActivities({ store, reconciliation, acceptEvent, digestOf }: Deps) {
  /** What becomes of it is written down, whatever was thought of it before. */
  async function noted(
    { project, name }: ScheduleRecord,
    { at, localTime }: Occurrence,
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
        state: ran ? 'ran' : 'missed',
        reason: ran ? null : became.reason,
        detail: ran ? null : (became.detail ?? null),
        runId: ran ? became.runId : null,
        recordedAt: new Date(now).toISOString(),
      },
      new Date(now + LIMITS.functions.schedules.timesDays * DAY_MS).toISOString(),
    );
  }

  async function accept(record: ScheduleRecord, due: { time: Occurrence; eventId: string }, workflowId: string) {
    const { project, name } = record;
    const ref = { project, name: record.function };
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

  /** The trigger that this workflow was begun for; null: it was begun twice for one. */
  async function takenTrigger(record: ScheduleRecord, workflowId: string): Promise<ScheduleAsk | null> {
    const triggers = Object.values(record.asks).filter(({ kind }) => kind === 'trigger');
    const own = triggers.find((ask) => ask.workflowId === workflowId);
    if (own) return own;
    for (const ask of triggers.toSorted((a, b) => (a.at < b.at ? -1 : 1))) {
      if (ask.workflowId === null && (await store.schedules.askTaken(record, ask, workflowId))) return ask;
    }
    return null;
  }

  async function dueOf(record: ScheduleRecord, at: number, workflowId: string): Promise<Due> {
    const time = timeAt(record, at);
    if (!time) {
      const ask = await takenTrigger(record, workflowId);
      if (!ask) return null;
      const wished = { at: Date.parse(ask.at), localTime: ask.at, dst: null, isRun: true };
      return { time: wished, eventId: `${record.name}/trigger/${ask.id}` };
    }
    if (!time.isRun) return { missed: 'repeat', time };
    if (isPausedAt(record, time.at) && !isBackfilled(record, time.at)) return { missed: 'paused', time };
    const isFirst = record.dst.repeat === 'first' && record.cron !== null;
    return { time, eventId: `${record.name}/${isFirst ? time.localTime : new Date(time.at).toISOString()}` };
  }

  /** Whether a later time, or somebody, wants this one's run to end: one that the clocks have again does not. */
  function isToEnd(record: ScheduleRecord | null, workflowId: string): boolean {
    const fired = Date.parse(timeOfWorkflow(workflowId) ?? '');
    if (!record || Number.isNaN(fired)) return true;
    const at = meantTime(record, fired);
    if (Object.values(record.asks).some(({ isSent }) => isSent)) return true;
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
      const due = await dueOf(record, meantTime(record, Date.parse(at)), workflowId);
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
        if (isOverlapped && isOwn && run.cancelledBy === null && isToEnd(record, workflowId)) await cancel(run);
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
  { time: { localTime }, eventId, nominalAt }: { time: Occurrence; eventId: string; nominalAt: string },
): ReceivedEvent {
  const { type, subject, data } = record.event;
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
