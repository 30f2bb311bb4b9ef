import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import type { SourcePowerEnd, SourcePowerTask } from '../../model/snapshots/source-power.ts';
import { freedWhenRefused } from '../../services/idempotent-attempt.ts';
import { type PlacedSource, placeSource } from '../../services/sources/source-host.ts';
import { actorOf } from '../http/auth.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { answerOnce, isHeard } from '../http/idempotency.ts';
import { problemResponse } from '../http/problem.ts';
import { SAGA } from '../http/problem-answers.ts';
import { type Route, routeOf } from '../http/route.ts';
import { idempotencyHeaders, json } from '../http/schemas.ts';
import { waitAsPreferred } from '../http/waiting.ts';
import { sourceParams, sourcePower, sourceTask, stopSource } from './source-schemas.ts';

const route = routeOf('sources');

const TASK = [SAGA, 'source_not_found', 'no_host', 'too_many_requests'] as const;
const pending = json('It goes on; ask again, which is no second one', sourcePower);

export const sourcePowerRoutes: Route[] = [
  route('startSource', 'post', '/v1/sources/{name}/start', {
    scope: 'operator',
    summary: 'Start a source that is shut off',
    description:
      'Answers when its guest agent does, or has not in time. Refused while a sandbox, a snapshot or another domain refers to its ' +
      'disks, which it would change below them, and for the images of Mayfly. While it runs, sandboxes are made of its captures.',
    in: { params: sourceParams, headers: idempotencyHeaders, body: sourceTask },
    out: { 200: json('It runs', sourcePower), 202: pending },
    problems: [...TASK, 'source_read_only', 'source_in_use', 'source_start_failed'],
    handle: async ({ c, deps, store, params, body: { hostId } }) => {
      const source = await placeSource(store, params.name, hostId);
      return answerPower(c, deps, { task: 'start', source });
    },
  }),
  route('stopSource', 'post', '/v1/sources/{name}/stop', {
    scope: 'operator',
    summary: 'Shut a source down',
    description:
      'Its guest is asked to, and has three minutes. `force` pulls the cord, also of one that is being stopped.',
    in: { params: sourceParams, headers: idempotencyHeaders, body: stopSource },
    out: { 200: json('It is shut off', sourcePower), 202: pending },
    problems: [...TASK, 'source_busy', 'source_stop_failed'],
    handle: async ({ c, deps, store, params, body: { hostId, force } }) => {
      const source = await placeSource(store, params.name, hostId);
      return answerPower(c, deps, { task: 'stop', source, force });
    },
  }),
];

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
): Promise<Response> {
  const { store, sagas } = deps;
  const { id: sourceId, hostId, installationId, name } = source;
  const actor = actorOf(c);
  const asked = { idFrom: () => sourceId, body: { hostId, force } };
  return answerOnce(c, asked, async (attempt) => {
    const input = { task, sourceId, hostId, installationId, name, force, actor };
    await freedWhenRefused(store, attempt, () => sagas.sources.beginPower(input));
    let end: SourcePowerEnd | undefined;
    await waitAsPreferred(c, async (signal) => {
      end = await sagas.sources.powerEnded(source, signal);
    });
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
