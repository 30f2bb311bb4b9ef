import type { z } from '@hono/zod-openapi';
import { RawJson } from '../../model/events/json/raw-json.ts';
import { resolvePointerText } from '../../model/events/json-pointer.ts';
import { LIMITS } from '../../model/limits.ts';
import type { ScheduleRecord, ScheduleTime } from '../../model/schedules/schedule.ts';
import { eachTimeBetween, findNextRun, LAST_TIME, type Occurrence } from '../../model/schedules/times.ts';
import { actionIdFrom, requestAction, type ScheduleAction } from '../../services/schedules/ask-schedule.ts';
import { pauseSchedule, resumeSchedule, setSchedule } from '../../services/schedules/set-schedule.ts';
import { orThrow, requireSchedule } from '../../services/service-deps.ts';
import { getTimeKey } from '../../store/schedules/schedule-times.ts';
import { decodeCursor, encodeCursor } from '../../store/sealed/page-cursor.ts';
import type { Unreadable } from '../../store/sealed/sealed-fields.ts';
import { actorOf } from '../http/context.ts';
import { type Responder, type Route, reply, routeOf } from '../http/route.ts';
import { answerList, json, keyHeaders, listOf, pageOf } from '../http/schemas.ts';
import { answerOnce, keep } from '../idempotency/answer-once.ts';
import {
  askAnswer,
  backfill,
  nextQuery,
  nextTimes,
  scheduleAnswer,
  scheduleParams,
  schedulesQuery,
  setSchedule as setRequest,
  timeAnswer,
  timesQuery,
  trigger,
} from './schedule-schemas.ts';

function scheduleView(record: ScheduleRecord): z.infer<typeof scheduleAnswer> {
  const next = record.pausedAt === null ? findNextRun(record, Date.now()) : null;
  const { data, ...event } = record.event;
  const withData = { ...event, ...(data !== undefined && { data: new RawJson(data) }) };
  return { ...record, event: withData, nextAt: next && new Date(next.at).toISOString() };
}

/** Returns the next times, with those that are skipped and why. */
function nextView(record: ScheduleRecord, count: number): z.infer<typeof nextTimes> {
  const items: Occurrence[] = [];
  for (const time of eachTimeBetween(record, Date.now(), LAST_TIME)) {
    if (items.length === count) break;
    items.push(time);
  }
  return { items: items.map((time) => ({ ...time, at: new Date(time.at).toISOString() })) };
}

const POSITION = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z\/[\dT:.Z-]{16,24}(?:\/[0-9a-f]+)?$/;

function cursorOfTime(time: ScheduleTime): string {
  return encodeCursor(getTimeKey(time));
}

/** @throws MayflyError invalid_request */
function positionOfCursor(cursor: string | undefined): string | undefined {
  return cursor === undefined ? undefined : decodeCursor(cursor, (text) => POSITION.test(text));
}

const route = routeOf('functions');

const ALL = '/v1/schedules';
const ONE = '/v1/schedules/{name}';

const SWITCH = {
  scope: 'sandboxes:write',
  in: { params: scheduleParams },
  out: { 200: json('It is so', scheduleAnswer) },
  problems: ['schedule_not_found'],
} as const;

export const scheduleRoutes: Route[] = [
  route('putSchedule', 'put', ONE, {
    scope: 'sandboxes:write',
    summary: 'Have a function run at times: makes a schedule, or sets all of one',
    description: 'docs/events.md says which times are run.',
    in: { params: scheduleParams, body: setRequest },
    out: { 200: json('It is as asked for', scheduleAnswer), 201: json('It is made', scheduleAnswer) },
    problems: ['function_not_found', 'function_draining', 'schedules_full', 'schedule_busy'],
    handle: async ({ c, deps, params: { name }, body }) => {
      const data = resolvePointerText(await c.req.text(), '/event/data');
      const { record, isNew } = await setSchedule(deps, actorOf(c), name, body, data);
      return reply(isNew ? 201 : 200, scheduleView(record));
    },
  }),
  route('listSchedules', 'get', ALL, {
    scope: 'sandboxes:read',
    summary: `List the schedules of the project, by name, at most ${LIMITS.functions.schedules.count}`,
    in: { query: schedulesQuery },
    out: { 200: json('All of them', listOf(scheduleAnswer)) },
    handle: async ({ store, query: { function: name } }) => {
      const unreadable: Unreadable[] = [];
      const all = await store.schedules.list(unreadable);
      const items = name === undefined ? all : all.filter((each) => each.function === name);
      return answerList(items.map(scheduleView), unreadable);
    },
  }),
  route('getSchedule', 'get', ONE, {
    scope: 'sandboxes:read',
    summary: 'Read a schedule',
    in: { params: scheduleParams },
    out: { 200: json('The schedule', scheduleAnswer) },
    problems: ['schedule_not_found'],
    handle: async ({ deps, params }) => scheduleView(await requireSchedule(deps, params.name)),
  }),
  route('deleteSchedule', 'delete', ONE, {
    scope: 'sandboxes:write',
    summary: 'Delete a schedule: what it has begun goes on',
    in: { params: scheduleParams },
    out: { 204: { description: 'It fires no more' } },
    problems: ['schedule_not_found'],
    handle: async ({ store, params: { name } }) => {
      const isDeleted = await store.schedules.delete(name, new Date().toISOString());
      orThrow(isDeleted, 'schedule_not_found', `There is no schedule ${name}.`);
    },
  }),
  route('listNextScheduleTimes', 'get', `${ONE}/next`, {
    scope: 'sandboxes:read',
    summary: 'Read the next times of a schedule, and what its clocks do to each',
    in: { params: scheduleParams, query: nextQuery },
    out: { 200: json('The next first', nextTimes) },
    problems: ['schedule_not_found'],
    handle: async ({ deps, params, query }) => {
      const { count = LIMITS.functions.schedules.next.default } = query;
      return nextView(await requireSchedule(deps, params.name), count);
    },
  }),
  route('listScheduleTimes', 'get', `${ONE}/times`, {
    scope: 'sandboxes:read',
    summary: 'List what became of the times of a schedule, the newest first',
    description: 'Each has a run, or the reason why it has none.',
    in: { params: scheduleParams, query: timesQuery },
    out: { 200: json('One page', pageOf(timeAnswer)) },
    problems: ['schedule_not_found'],
    handle: async ({ deps, store, params, query }) => {
      const { limit, cursor, state } = query;
      const { name } = await requireSchedule(deps, params.name);
      const range = { limit: limit + 1, state, before: positionOfCursor(cursor) };
      const unreadable: Unreadable[] = [];
      const found = await store.schedules.times(name, range, unreadable);
      const items = found.slice(0, limit);
      const last = found.length + unreadable.length > limit ? items.at(-1) : undefined;
      const nextCursor = last ? cursorOfTime(last) : null;
      return { ...answerList(items, unreadable), nextCursor };
    },
  }),
  route('pauseSchedule', 'post', `${ONE}/pause`, {
    ...SWITCH,
    summary: 'Have a schedule fire no more until it is resumed',
    handle: async ({ deps, params: { name } }) => scheduleView(await pauseSchedule(deps, name)),
  }),
  route('resumeSchedule', 'post', `${ONE}/resume`, {
    ...SWITCH,
    summary: 'Have a schedule fire again; what it left out meanwhile stays out',
    handle: async ({ deps, params: { name } }) => scheduleView(await resumeSchedule(deps, name)),
  }),
  route('triggerSchedule', 'post', `${ONE}/trigger`, {
    scope: 'sandboxes:write',
    summary: 'Have a schedule fire now, also one that is paused',
    in: { params: scheduleParams, headers: keyHeaders, body: trigger },
    out: { 202: json('It will', askAnswer) },
    problems: ['schedule_not_found', 'schedule_busy'],
    handle: (call) => {
      const { overlap } = call.body;
      return requestOnce(call, call.params.name, { kind: 'trigger', ...(overlap && { overlap }) });
    },
  }),
  route('backfillSchedule', 'post', `${ONE}/backfill`, {
    scope: 'sandboxes:write',
    summary: 'Have times of the past run that were not',
    in: { params: scheduleParams, headers: keyHeaders, body: backfill },
    out: { 202: json('They will', askAnswer) },
    problems: ['schedule_not_found', 'schedule_busy'],
    handle: (call) => {
      const { overlap, ...range } = call.body;
      return requestOnce(call, call.params.name, { kind: 'backfill', ...range, ...(overlap && { overlap }) });
    },
  }),
];

/** Records an action once for each Idempotency-Key. @throws as {@link requestAction} does */
function requestOnce(
  call: Responder<z.infer<typeof askAnswer>>,
  name: string,
  wish: ScheduleAction,
): Promise<Response> {
  const { deps } = call;
  return answerOnce(call, { idFrom: actionIdFrom }, async ({ subjectId }) =>
    keep(await requestAction(deps, await requireSchedule(deps, name), subjectId, wish)),
  );
}
