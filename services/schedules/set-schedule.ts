import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import type { PastSpec, ScheduleRecord, ScheduleSpec } from '../../model/schedules/schedule.ts';
import { findNextRun } from '../../model/schedules/times.ts';
import { requireFunction, requireSchedule, type ServiceDeps } from '../service-deps.ts';

const { schedules: limits } = LIMITS.functions;

type Optional = 'cron' | 'every' | 'startAt' | 'endAt';
/** Request for a schedule; absent fields become null. */
interface SetSchedule extends Omit<ScheduleSpec, Optional | 'event'>, Partial<Record<Optional, string | undefined>> {
  event: { type: string; subject?: string | undefined };
}

/**
 * Creates or replaces a schedule. It applies when this returns; the control worker wakes its workflow.
 * @param data of its event, JSON text as sent
 * @throws MayflyError function_not_found, function_draining, schedules_full, schedule_busy; invalid_request for one
 *   that never fires or has too much data
 */
export async function setSchedule(
  deps: ServiceDeps,
  actor: Actor,
  name: string,
  wish: SetSchedule,
  data: string | undefined,
): Promise<{ record: ScheduleRecord; isNew: boolean }> {
  const { schedules } = deps.store;
  const { state } = await requireFunction(deps, wish.function);
  if (state === 'draining') throw new MayflyError('function_draining', `${wish.function} is being deleted.`);
  const spec = specOf(wish, data);
  const now = new Date().toISOString();
  assertFires(spec, Date.parse(now));
  for (;;) {
    const found = await schedules.get(name);
    const since = { wakeAt: now, updatedAt: now };
    if (!found) {
      if ((await schedules.list()).length >= limits.count) throw full();
      const record = {
        ...spec,
        ...INITIAL_STATE,
        ...since,
        project: actor.project,
        name,
        version: 1,
        createdBy: actor,
      };
      const made = { ...record, past: [], handledUntil: now, createdAt: now };
      if (await schedules.create(made)) return { record: made, isNew: true };
      continue;
    }
    const isAgain = found.deletedAt !== null;
    if (isAgain && (await schedules.list()).length >= limits.count) throw full();
    const anew = { ...INITIAL_STATE, handledUntil: now, createdBy: actor, createdAt: now };
    const past = isAgain ? [] : appendPastSpec(found, now);
    const changes = { ...spec, ...since, ...(isAgain && anew), past };
    const { version } = found;
    if (await schedules.change(name, changes, { version })) {
      return { record: { ...found, ...changes }, isNew: isAgain };
    }
  }
}

/** Appends the current spec to the past ones, whose times may not be decided yet. @throws MayflyError schedule_busy */
function appendPastSpec(found: ScheduleRecord, until: string): PastSpec[] {
  if (found.past.length >= limits.past) {
    throw new MayflyError(
      'schedule_busy',
      `${found.name} was set ${limits.past} times, and its times are not written yet.`,
    );
  }
  const { function: name, cron, every, timeZone, overlap, catchupWindowSeconds, jitterSeconds } = found;
  const { startAt, endAt, pauseOnFailure, dst, event } = found;
  const rules = { overlap, catchupWindowSeconds, jitterSeconds, startAt, endAt, pauseOnFailure, dst, event };
  return [...found.past, { function: name, cron, every, timeZone, ...rules, until }];
}

const INITIAL_STATE = {
  pausedAt: null,
  pauseReason: null,
  pauses: [],
  asks: {},
  queue: [],
  active: [],
  deletedAt: null,
};

/** @throws MayflyError invalid_request */
function specOf({ cron, every, startAt, endAt, event, ...rest }: SetSchedule, data: string | undefined): ScheduleSpec {
  if (Buffer.byteLength(data ?? '') > limits.dataBytes) {
    const fields = [{ field: 'event.data', problem: `has more than ${limits.dataBytes} bytes` }];
    throw new MayflyError('invalid_request', 'The data is too long.', { fields });
  }
  const { type, subject = null } = event;
  return {
    ...rest,
    cron: cron ?? null,
    every: every ?? null,
    startAt: startAt ?? null,
    endAt: endAt ?? null,
    event: { type, subject, ...(data !== undefined && { data }) },
  };
}

/** Refuses a schedule that never fires. */
function assertFires(spec: ScheduleSpec, now: number): void {
  if (findNextRun(spec, now)) return;
  const field = spec.endAt === null ? 'cron' : 'endAt';
  const problem = spec.endAt === null ? 'never fires' : 'is before it fires for the first time: it never does';
  throw new MayflyError('invalid_request', 'The schedule never fires.', { fields: [{ field, problem }] });
}

function full(): MayflyError {
  return new MayflyError('schedules_full', `The project has ${limits.count} schedules.`);
}

/** Limit of pauses that the workflow has not processed yet. */
const MOST_PAUSES = 100;

/** @throws MayflyError schedule_not_found */
export async function pauseSchedule(deps: ServiceDeps, name: string) {
  await requireSchedule(deps, name);
  const at = new Date().toISOString();
  const changes = { pausedAt: at, pauseReason: null, wakeAt: at, updatedAt: at };
  await deps.store.schedules.change(name, changes, { pausedAt: null, deletedAt: null });
  return requireSchedule(deps, name);
}

/** @throws MayflyError schedule_not_found */
export async function resumeSchedule(deps: ServiceDeps, name: string) {
  const { pausedAt, pauses } = await requireSchedule(deps, name);
  const at = new Date().toISOString();
  if (pausedAt !== null) {
    const over = [...pauses, { from: pausedAt, to: at }].slice(-MOST_PAUSES);
    const changes = { pausedAt: null, pauseReason: null, pauses: over, wakeAt: at, updatedAt: at };
    await deps.store.schedules.change(name, changes, { pausedAt, deletedAt: null });
  }
  return requireSchedule(deps, name);
}
