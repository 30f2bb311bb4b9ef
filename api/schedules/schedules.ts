import { createRoute, type z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { textAt } from '../../model/functions/json-pointer.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Unreadable } from '../../store/sealed/sealed-fields.ts';
import { actorOf, requires } from '../http/auth.ts';
import { type App, answerRaw, type Env, type RequestDeps, serialised } from '../http/context.ts';
import { answerOnce, freeRequest } from '../http/idempotency.ts';
import { BODY, KEYED, problems } from '../http/problem-answers.ts';
import { answerList, json, keyHeaders, listOf, noQuery, pageOf } from '../http/schemas.ts';
import { ask, askIdFrom, type Wish } from './ask-schedule.ts';
import {
  askAnswer,
  backfill,
  nextQuery,
  nextTimes,
  scheduleAnswer,
  scheduleParams,
  schedulesQuery,
  scheduleTime,
  setSchedule as setRequest,
  timesQuery,
  trigger,
} from './schedule-schemas.ts';
import { cursorOfTime, nextView, positionOfCursor, scheduleView, timeView } from './schedule-view.ts';
import { noSchedule, requireSchedule, setSchedule } from './set-schedule.ts';

const ALL = '/v1/schedules';
const ONE = '/v1/schedules/{name}';
const reads = [requires('sandboxes:read')];
const writes = [requires('sandboxes:write')];
const tags = ['functions'];
const one = { path: ONE, tags, request: { params: scheduleParams, query: noQuery } } as const;
const bodyOf = <T extends z.ZodType>(schema: T) => ({
  required: true,
  content: { 'application/json': { schema } },
});

const setOne = createRoute({
  ...one,
  method: 'put',
  operationId: 'setSchedule',
  summary: 'Have a function run at times: makes a schedule, or sets all of one',
  description: 'docs/schedules.md says which times are run.',
  middleware: writes,
  request: { ...one.request, body: bodyOf(setRequest) },
  responses: {
    200: json('It is as asked for', scheduleAnswer),
    201: json('It is made', scheduleAnswer),
    ...problems(BODY, 'function_not_found', 'function_draining', 'schedules_full', 'schedule_busy'),
  },
});

const listAll = createRoute({
  method: 'get',
  path: ALL,
  tags,
  operationId: 'listSchedules',
  summary: `List the schedules of the project, by name, at most ${LIMITS.functions.schedules.count}`,
  middleware: reads,
  request: { query: schedulesQuery },
  responses: { 200: json('All of them', listOf(scheduleAnswer)), ...problems() },
});

const getOne = createRoute({
  ...one,
  method: 'get',
  operationId: 'getSchedule',
  summary: 'Read a schedule',
  middleware: reads,
  responses: { 200: json('The schedule', scheduleAnswer), ...problems('schedule_not_found') },
});

const deleteOne = createRoute({
  ...one,
  method: 'delete',
  operationId: 'deleteSchedule',
  summary: 'Delete a schedule: what it has begun goes on',
  middleware: writes,
  responses: { 204: { description: 'It fires no more' }, ...problems('schedule_not_found') },
});

const nextOf = createRoute({
  ...one,
  method: 'get',
  path: `${ONE}/next`,
  operationId: 'getNextTimes',
  summary: 'Read the next times of a schedule, and what its clocks do to each',
  middleware: reads,
  request: { params: scheduleParams, query: nextQuery },
  responses: { 200: json('The next first', nextTimes), ...problems('schedule_not_found') },
});

const timesOf = createRoute({
  ...one,
  method: 'get',
  path: `${ONE}/times`,
  operationId: 'listScheduleTimes',
  summary: 'List what became of the times of a schedule, the newest first',
  description: 'Each has a run, or the reason why it has none.',
  middleware: reads,
  request: { params: scheduleParams, query: timesQuery },
  responses: { 200: json('One page', pageOf(scheduleTime)), ...problems('schedule_not_found') },
});

const switchRoute = (act: 'pause' | 'resume', summary: string) =>
  createRoute({
    ...one,
    method: 'post',
    path: `${ONE}/${act}`,
    operationId: `${act}Schedule`,
    summary,
    middleware: writes,
    responses: { 200: json('It is so', scheduleAnswer), ...problems('schedule_not_found') },
  });
const pauseOne = switchRoute('pause', 'Have a schedule fire no more until it is resumed');
const resumeOne = switchRoute('resume', 'Have a schedule fire again; what it left out meanwhile stays out');

const triggerOne = createRoute({
  ...one,
  method: 'post',
  path: `${ONE}/trigger`,
  operationId: 'triggerSchedule',
  summary: 'Have a schedule fire now, also one that is paused',
  middleware: writes,
  request: { ...one.request, headers: keyHeaders, body: { ...bodyOf(trigger), required: false } },
  responses: { 202: json('It will', askAnswer), ...problems(BODY, KEYED, 'schedule_not_found', 'schedule_busy') },
});

const backfillOne = createRoute({
  ...one,
  method: 'post',
  path: `${ONE}/backfill`,
  operationId: 'backfillSchedule',
  summary: 'Have times of the past run that were not',
  middleware: writes,
  request: { ...one.request, headers: keyHeaders, body: bodyOf(backfill) },
  responses: { 202: json('They will', askAnswer), ...problems(BODY, KEYED, 'schedule_not_found', 'schedule_busy') },
});

export function scheduleRoutes(app: App): void {
  app.openapi(setOne, async (c) => {
    const { name } = c.req.valid('param');
    const data = textAt(await c.req.text(), '/event/data');
    const { record, isNew } = await setSchedule(c.get('deps'), actorOf(c), name, c.req.valid('json'), data);
    return answerRaw(c, scheduleView(record), isNew ? 201 : 200);
  });
  app.openapi(listAll, async (c) => {
    const { function: name } = c.req.valid('query');
    const unreadable: Unreadable[] = [];
    const all = await c.get('deps').store.schedules.list(unreadable);
    const items = name === undefined ? all : all.filter((each) => each.function === name);
    return answerRaw(c, answerList(items.map(scheduleView), unreadable), 200);
  });
  app.openapi(getOne, async (c) =>
    answerRaw(c, scheduleView(await requireSchedule(c.get('deps'), c.req.valid('param').name)), 200),
  );
  app.openapi(deleteOne, async (c) => {
    const { name } = c.req.valid('param');
    const isDeleted = await c.get('deps').store.schedules.delete(name, new Date().toISOString());
    if (!isDeleted) throw noSchedule(name);
    return c.body(null, 204);
  });
  app.openapi(nextOf, async (c) => {
    const { count = LIMITS.functions.schedules.next.default } = c.req.valid('query');
    return c.json(nextView(await requireSchedule(c.get('deps'), c.req.valid('param').name), count), 200);
  });
  app.openapi(timesOf, async (c) => {
    const { limit = LIMITS.page.default, cursor, state } = c.req.valid('query');
    const deps = c.get('deps');
    const { name } = await requireSchedule(deps, c.req.valid('param').name);
    const query = { limit: limit + 1, state, before: positionOfCursor(cursor) };
    const unreadable: Unreadable[] = [];
    const found = await deps.store.schedules.times(name, query, unreadable);
    const items = found.slice(0, limit);
    const last = found.length + unreadable.length > limit ? items.at(-1) : undefined;
    const nextCursor = last ? cursorOfTime(last) : null;
    return c.json({ ...answerList(items.map(timeView), unreadable), nextCursor }, 200);
  });
  app.openapi(pauseOne, async (c) =>
    answerRaw(c, scheduleView(await paused(c.get('deps'), c.req.valid('param').name)), 200),
  );
  app.openapi(resumeOne, async (c) =>
    answerRaw(c, scheduleView(await resumed(c.get('deps'), c.req.valid('param').name)), 200),
  );
  app.openapi(triggerOne, async (c) => {
    const { overlap } = c.req.valid('json');
    const wish = { kind: 'trigger', ...(overlap && { overlap }) } as const;
    return serialised(await askedOnce(c, c.req.valid('param').name, c.req.valid('header')['idempotency-key'], wish));
  });
  app.openapi(backfillOne, async (c) => {
    const { from, to, overlap } = c.req.valid('json');
    const wish = { kind: 'backfill', from, to, ...(overlap && { overlap }) } as const;
    return serialised(await askedOnce(c, c.req.valid('param').name, c.req.valid('header')['idempotency-key'], wish));
  });
}

/** The same request again is answered in the same words, and has nothing more run. @throws as {@link ask} does */
async function askedOnce(c: Context<Env>, name: string, key: string | undefined, wish: Wish): Promise<Response> {
  const deps = c.get('deps');
  return answerOnce(c, deps.store, { idFrom: askIdFrom, key, body: wish }, async (attempt) => {
    try {
      const { id, at } = await ask(deps, await requireSchedule(deps, name), attempt.subjectId, wish);
      return { response: c.json({ id, at }, 202), isKept: true };
    } catch (error) {
      // What is refused was not written down: it may be mended, and sent under its key.
      const isRefused = error instanceof MayflyError && error.code !== 'store_unavailable';
      if (isRefused && attempt.isFresh) await freeRequest(deps.store, attempt);
      throw error;
    }
  });
}

/** @throws MayflyError schedule_not_found */
async function paused(deps: RequestDeps, name: string) {
  await requireSchedule(deps, name);
  const at = new Date().toISOString();
  const changes = { pausedAt: at, pauseReason: null, lookAt: at, updatedAt: at };
  await deps.store.schedules.change(name, changes, { pausedAt: null, deletedAt: null });
  return requireSchedule(deps, name);
}

/** @throws MayflyError schedule_not_found */
async function resumed(deps: RequestDeps, name: string) {
  const { pausedAt, pauses } = await requireSchedule(deps, name);
  const at = new Date().toISOString();
  if (pausedAt !== null) {
    const over = [...pauses, { from: pausedAt, to: at }].slice(-MOST_PAUSES);
    const changes = { pausedAt: null, pauseReason: null, pauses: over, lookAt: at, updatedAt: at };
    await deps.store.schedules.change(name, changes, { pausedAt, deletedAt: null });
  }
  return requireSchedule(deps, name);
}

/** That are not accounted for yet: those go with the next look of the control worker. */
const MOST_PAUSES = 100;
