import { MayflyError } from '../../model/errors.ts';
import type { ReceivedEvent } from '../../model/events/cloud-event.ts';
import type { FunctionRecord, FunctionVersion } from '../../model/functions/function.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { blocksOthers, decideDue } from '../../model/schedules/due-times.ts';
import {
  type DueTime,
  getSpecAsOf,
  type MissedReason,
  type ScheduledFor,
  type ScheduleRecord,
} from '../../model/schedules/schedule.ts';
import type { ScheduleInput } from '../../model/schedules/schedule-saga.ts';
import type { Store } from '../../store/connect.ts';
import { cancelRun } from '../../store/functions/run-cancel.ts';
import { createProjectStore, type ProjectStore } from '../../store/project-store.ts';
import type { ControlTemporalClient } from '../../temporal/reconciliation.ts';
import { eventOf, timeRecord } from './schedule-event.ts';

export type AcceptEvent = (
  store: ProjectStore,
  target: { record: FunctionRecord; version: FunctionVersion },
  arrival: {
    event: ReceivedEvent;
    sameness: { by: 'event'; text: string };
    digest: string;
    schedule: ScheduledFor;
    actor: Actor;
  },
) => Promise<{ run: RunRecord; isNew: boolean }>;

interface Deps {
  store: Store;
  reconciliation: ControlTemporalClient;
  acceptEvent: AcceptEvent;
  /** SHA-256, hex. */
  digestOf: (text: string) => string;
}

type Changes = Partial<Omit<ScheduleRecord, 'project' | 'name' | 'version'>>;

const DAY_MS = 86_400_000;
const MAX_TICKS = 50;
/** Poll intervals for active runs: a run that ends without a workflow wakes no schedule. Milliseconds. */
const POLL_MS = { cancelling: 1_000, running: 15_000 };
/** Outcomes that do not pause a schedule with `pauseOnFailure`. */
const NO_FAILURES: readonly string[] = ['succeeded', 'cancelled', 'skipped'];

export function createScheduleActivities({ store, reconciliation, acceptEvent, digestOf }: Deps) {
  /** @returns null on a concurrent change */
  async function save(record: ScheduleRecord, changes: Changes): Promise<ScheduleRecord | null> {
    const { version } = record;
    const isSaved = await store.schedules.change(record, { ...changes, wakeAt: null }, { version });
    return isSaved ? { ...record, ...changes, wakeAt: null, version: version + 1 } : null;
  }

  async function recordMissed(
    record: ScheduleRecord,
    missed: readonly (Omit<DueTime, 'overlap'> & { reason: MissedReason; detail?: string })[],
  ): Promise<void> {
    for (const isFilled of [false, true]) {
      const times = missed.filter((time) => time.isFilled === isFilled);
      const records = times.map((time) => timeRecord(record, time, { state: 'missed', ...time }));
      await store.scheduleTimes.putMissed(records, expiryOfRecord(), isFilled);
    }
  }

  async function accept(record: ScheduleRecord, time: DueTime): Promise<RunRecord> {
    const { project, name } = record;
    const spec = isManual(time) ? record : getSpecAsOf(record, Date.parse(time.at));
    const ref = { project, name: spec.function };
    const found = await store.functions.get(ref);
    const version = found && (await store.functionVersions.get(ref, found.activeVersion));
    if (!found || !version) throw new MayflyError('function_not_found', `There is no function ${ref.name}.`);
    if (found.state === 'draining') throw new MayflyError('function_draining', `${ref.name} is being deleted.`);
    const event = eventOf(record, { ...time, spec });
    const { source, id } = event.attributes;
    const { run } = await acceptEvent(
      createProjectStore(store, { project, isOperator: false }),
      { record: found, version },
      {
        event,
        sameness: { by: 'event', text: JSON.stringify([source, id]) },
        digest: digestOf(`${source} ${id}`), // the firing time does not distinguish events
        schedule: { name, nominalAt: time.at },
        actor: record.createdBy,
      },
    );
    if (found.state !== 'paused') await reconciliation.functions.ensureDispatcher(ref);
    return run;
  }

  /** @returns the run; null: its function refused the event */
  async function startTick(record: ScheduleRecord, time: DueTime): Promise<RunRecord | null> {
    try {
      const run = await accept(record, time);
      await store.scheduleTimes.put(timeRecord(record, time, { state: 'ran', runId: run.id }), expiryOfRecord());
      return run;
    } catch (error) {
      if (!(error instanceof MayflyError) || !REFUSALS.has(error.code)) throw error;
      await recordMissed(record, [{ ...time, reason: 'refused', detail: `${error.code}: ${error.message}` }]);
      return null;
    }
  }

  /** Starts ticks that are not waiting. Idempotent, since decisions are stored: a repeated start finds the same run. */
  async function startTicks(record: ScheduleRecord): Promise<Pick<ScheduleRecord, 'queue' | 'active'>> {
    const [queue, active] = [[...record.queue], [...record.active]];
    for (let left = MAX_TICKS; left > 0; left -= 1) {
      const place = indexOfNext(queue, active);
      const [time] = place < 0 ? [] : queue.splice(place, 1);
      if (!time) break;
      const run = await startTick(record, time);
      if (run && (blocksOthers(time) || record.pauseOnFailure)) active.push({ runId: run.id, overlap: time.overlap });
    }
    return { queue, active };
  }

  async function cancel(record: ScheduleRecord, runIds: readonly string[]): Promise<void> {
    for (const runId of runIds) {
      const run = await store.runs.get(runId);
      if (!run || run.cancelledBy !== null) continue;
      await cancelRun(store.runs, run, record.createdBy, (id, actor) => reconciliation.functions.cancelRun(id, actor));
    }
  }

  /** Drops runs that have ended and are cleaned up. @returns the changes of the schedule */
  async function dropEnded(record: ScheduleRecord, isCancelled: boolean): Promise<Changes> {
    const isOverlapped = record.queue.some(({ overlap }) => overlap === 'cancel-other');
    const ending = record.active.filter((run) => isCancelled || (isOverlapped && blocksOthers(run)));
    await cancel(
      record,
      ending.map(({ runId }) => runId),
    );
    const ends = await store.runs.ends(record.active.map(({ runId }) => runId));
    const active = record.active.filter(({ runId }) => {
      const { state, cleanup } = ends.get(runId) ?? { state: 'ended', cleanup: 'none' };
      return state !== 'ended' || cleanup === 'pending';
    });
    const pauseReason = isCancelled
      ? 'its workflow was cancelled in Temporal'
      : await failureAmong(
          record,
          record.active.filter((run) => !active.includes(run)).map(({ runId }) => runId),
        );
    if (record.pausedAt !== null || pauseReason === null) return { active };
    const at = new Date().toISOString();
    return { active, pausedAt: at, pauseReason, updatedAt: at };
  }

  /** Returns the failure that pauses the schedule; null: none. */
  async function failureAmong({ pauseOnFailure }: ScheduleRecord, runIds: readonly string[]): Promise<string | null> {
    for (const runId of pauseOnFailure ? runIds : []) {
      const { outcome = null } = (await store.runs.get(runId)) ?? {};
      if (outcome !== null && !NO_FAILURES.includes(outcome)) return `${runId} is ${outcome}`;
    }
    return null;
  }

  /** @returns null on a concurrent change */
  async function advance(found: ScheduleRecord, isCancelled: boolean): Promise<{ wakeInMs: number } | null> {
    const settled = { ...found, ...(await dropEnded(found, isCancelled)) };
    const { changes, missed, nextAt } = decideDue(settled, Date.now());
    await recordMissed(found, missed);
    const { active, pausedAt, pauseReason, updatedAt } = settled;
    const decided = await save(found, { ...changes, active, pausedAt, pauseReason, updatedAt });
    if (!decided) return null;
    const begun = isCancelled ? decided : await startTicks(decided);
    const isBegun = begun.queue.length < decided.queue.length;
    const saved = isBegun ? await save(decided, begun) : decided;
    return saved && { wakeInMs: waitMs(saved, nextAt) };
  }

  return {
    /**
     * Decides on the ticks until now, and starts those to run. Stores each decision before acting on it.
     * @returns time until the next step; null: the schedule is deleted
     */
    async advanceSchedule(input: ScheduleInput & { isCancelled: boolean }): Promise<{ wakeInMs: number | null }> {
      const { project, name, isCancelled } = input;
      for (;;) {
        const record = await store.schedules.get({ project, name });
        if (!record) return { wakeInMs: null };
        if (record.deletedAt === null) {
          const advanced = await advance(record, isCancelled);
          if (advanced) return advanced;
          continue;
        }
        await store.scheduleTimes.removeOf(record);
        await store.schedules.remove(record, record);
      }
    },
  };
}

/** Codes of refused events, which are recorded as missed: the function needs a fix first. */
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

function isManual({ triggerId, isFilled }: DueTime): boolean {
  return triggerId !== null || isFilled;
}

/** Returns the index of the first tick that waits for no run; -1: none. */
function indexOfNext(queue: readonly DueTime[], active: ScheduleRecord['active']): number {
  const isRunning = active.some(blocksOthers);
  return queue.findIndex((time) => !isRunning || !blocksOthers(time));
}

/** Returns the time until the next step, at most a day: timers ignore clock changes. Milliseconds. */
function waitMs({ queue, active, pauseOnFailure }: ScheduleRecord, nextAt: number): number {
  if (indexOfNext(queue, active) >= 0) return 1;
  const isPolled = active.length > 0 && (queue.length > 0 || pauseOnFailure);
  const isCancelling = queue.some(({ overlap }) => overlap === 'cancel-other');
  const pollMs = isCancelling ? POLL_MS.cancelling : POLL_MS.running;
  return Math.max(1, Math.min(nextAt - Date.now(), isPolled ? pollMs : DAY_MS));
}

/** Returns the expiry of a record written now. ISO 8601. */
function expiryOfRecord(): string {
  return new Date(Date.now() + LIMITS.functions.schedules.timesDays * DAY_MS).toISOString();
}
