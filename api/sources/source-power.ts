import { createRoute, type z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import type { SourcePowerEnd, SourcePowerTask } from '../../model/snapshots/source-power.ts';
import { actorOf, requires } from '../http/auth.ts';
import { type App, type Env, type RequestDeps, serialised } from '../http/context.ts';
import { answerOnce, freedWhenRefused, isHeard } from '../http/idempotency.ts';
import { preferenceOf } from '../http/prefer.ts';
import { problemResponse } from '../http/problem.ts';
import { BODY, KEYED, problems, SAGA } from '../http/problem-answers.ts';
import { type IdempotencyHeaders, idempotencyHeaders, json, noQuery } from '../http/schemas.ts';
import { waitWithin } from '../http/waiting.ts';
import { type PlacedSource, placeSource } from './source-host.ts';
import { sourceParams, sourcePower, sourceTask, stopSource } from './source-schemas.ts';

const TASK = [BODY, KEYED, SAGA, 'source_not_found', 'no_host', 'too_many_requests'] as const;
const under = { params: sourceParams, query: noQuery, headers: idempotencyHeaders };
const pending = json('It goes on; ask again, which is no second one', sourcePower);

const startOne = createRoute({
  operationId: 'startSource',
  method: 'post',
  path: '/v1/sources/{name}/start',
  tags: ['sources'],
  summary: 'Start a source that is shut off',
  description:
    'Answers when its guest agent does, or has not in time. Refused while a sandbox, a snapshot or another domain refers to its ' +
    'disks, which it would change below them, and for the images of Mayfly. While it runs, sandboxes are made of its captures.',
  middleware: [requires('operator')],
  request: { ...under, body: { required: false, content: { 'application/json': { schema: sourceTask } } } },
  responses: {
    200: json('It runs', sourcePower),
    202: pending,
    ...problems(...TASK, 'source_read_only', 'source_in_use', 'source_start_failed'),
  },
});

const stopOne = createRoute({
  operationId: 'stopSource',
  method: 'post',
  path: '/v1/sources/{name}/stop',
  tags: ['sources'],
  summary: 'Shut a source down',
  description:
    'Its guest is asked to, and has three minutes. `force` pulls the cord, also of one that is being stopped.',
  middleware: [requires('operator')],
  request: { ...under, body: { required: false, content: { 'application/json': { schema: stopSource } } } },
  responses: {
    200: json('It is shut off', sourcePower),
    202: pending,
    ...problems(...TASK, 'source_busy', 'source_stop_failed'),
  },
});

export function sourcePowerRoutes(app: App): void {
  app.openapi(startOne, async (c) => {
    const { hostId } = c.req.valid('json');
    const source = await placeSource(c.get('deps').store, c.req.valid('param').name, hostId);
    return serialised(await answerPower(c, c.get('deps'), { task: 'start', source }, c.req.valid('header')));
  });
  app.openapi(stopOne, async (c) => {
    const { hostId, force } = c.req.valid('json');
    const source = await placeSource(c.get('deps').store, c.req.valid('param').name, hostId);
    return serialised(await answerPower(c, c.get('deps'), { task: 'stop', source, force }, c.req.valid('header')));
  });
}

interface Wish {
  task: SourcePowerTask;
  source: PlacedSource;
  force?: boolean | undefined;
}

/** @throws MayflyError source_busy, too_many_requests */
async function answerPower(
  c: Context<Env>,
  deps: RequestDeps,
  { task, source, force = false }: Wish,
  headers: IdempotencyHeaders,
): Promise<Response> {
  const { store, sagas } = deps;
  const { id: sourceId, hostId, installationId = null, name } = source;
  const actor = actorOf(c);
  const asked = { idFrom: () => sourceId, key: headers['idempotency-key'], body: { hostId, force } };
  return answerOnce(c, store, asked, async (attempt) => {
    const input = { task, sourceId, hostId, installationId, name, force, actor };
    await freedWhenRefused(store, attempt, () => sagas.sourcePower(input));
    const preference = preferenceOf(headers.prefer);
    let end: SourcePowerEnd | undefined;
    await waitWithin(c, deps, preference.seconds, async (signal) => {
      end = await sagas.sourcePowerEnded(source, signal);
    });
    if (preference.applied) c.header('Preference-Applied', preference.applied);
    c.header('Location', `/v1/sources/${encodeURIComponent(name)}`);
    return { response: answerFor(c, task, source, end), isKept: end !== undefined && isHeard(c) };
  });
}

const STATES = {
  start: { done: 'running', pending: 'starting' },
  stop: { done: 'shut_off', pending: 'stopping' },
} as const;

function answerFor(
  c: Context<Env>,
  task: SourcePowerTask,
  { hostId, name }: PlacedSource,
  end: SourcePowerEnd | undefined,
): Response {
  const { done, pending } = STATES[task];
  const answer = (state: z.infer<typeof sourcePower>['state'], guestAnswers: boolean | null) => ({
    name,
    hostId,
    state,
    guestAnswers,
  });
  if (!end) return c.json(answer(pending, null), 202);
  if (end.failure) return problemResponse(c, new MayflyError(end.failure.code, end.failure.message));
  return c.json(answer(done, end.guestAnswers), 200);
}
