import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { memberText } from '../../model/events/json/member-text.ts';
import type { Accepted } from '../acceptance/accept-event.ts';
import type { Acceptance } from '../acceptance/acceptance.ts';
import { actorOf, requires } from '../http/auth.ts';
import type { App, Env } from '../http/context.ts';
import { REPLAYED } from '../http/idempotency.ts';
import { BODY, KEYED, problems } from '../http/problem-answers.ts';
import { json, keyHeaders, noQuery } from '../http/schemas.ts';
import { redriveQuery, replayBody, runAnswer, runParams } from '../runs/run-schemas.ts';
import { requireRun, runView } from '../runs/run-view.ts';
import { TAKEN } from '../runs/trigger.ts';
import { type Door, redriven, replayed, samenessOf } from './replay-run.ts';

const ONE = '/v1/runs/{id}';
const tags = ['runs'];
const middleware = [requires('sandboxes:write')];

const replayOne = createRoute({
  method: 'post',
  path: `${ONE}/replay`,
  tags,
  operationId: 'replayRun',
  summary: 'Have the event of a run run once more, as it was or edited',
  description: 'A new run, whatever became of the first, which stays as it is. `MAYFLY_REPLAY_OF` tells its process.',
  middleware,
  request: {
    params: runParams,
    query: noQuery,
    headers: keyHeaders,
    body: { required: false, content: { 'application/json': { schema: replayBody } } },
  },
  responses: {
    202: json('It is stored; Location says where to look', runAnswer),
    ...problems(BODY, KEYED, TAKEN, 'run_not_found', 'run_is_batch', 'function_gone'),
  },
});

const redriveOne = createRoute({
  method: 'post',
  path: `${ONE}/redrive`,
  tags,
  operationId: 'redriveRun',
  summary: 'Have another run take the place of a dead letter, once',
  description: 'Whoever asks again is told of the same run.',
  middleware,
  request: { params: runParams, query: redriveQuery },
  responses: {
    200: json('It was redriven before: the run in its place', runAnswer),
    202: json('It is stored; Location says where to look', runAnswer),
    ...problems(TAKEN, 'run_not_found', 'run_is_batch', 'not_dead_letter', 'function_gone'),
  },
});

export function replayRoutes(app: App, acceptance: Acceptance): void {
  const door: Door = {
    target: acceptance.target.bind(acceptance),
    accept: acceptance.acceptWhileRoom.bind(acceptance),
  };

  function answer(c: Context<Env>, { run, isNew }: Accepted) {
    c.header('Location', `/v1/runs/${run.id}`);
    if (!isNew) c.header(REPLAYED, 'true');
    return runView(run);
  }

  app.openapi(replayOne, async (c) => {
    const deps = c.get('deps');
    const { version, event } = c.req.valid('json');
    const run = await requireRun(deps, c.req.valid('param').id);
    const accepted = await replayed(deps, door, run, {
      version,
      event: event && memberText(await c.req.text(), 'event'),
      sameness: samenessOf(c.get('apiKey').id, c.req.valid('header')['idempotency-key']),
      actor: actorOf(c),
    });
    return c.json(answer(c, accepted), 202);
  });

  app.openapi(redriveOne, async (c) => {
    const deps = c.get('deps');
    const run = await requireRun(deps, c.req.valid('param').id);
    const accepted = await redriven(deps, door, run, { ...c.req.valid('query'), actor: actorOf(c) });
    return c.json(answer(c, accepted), accepted.isNew ? 202 : 200);
  });
}
