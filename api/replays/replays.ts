import { getMemberText } from '../../model/events/json/member-text.ts';
import { LIMITS } from '../../model/limits.ts';
import { type ReplayIntake, redriven, replayDedupeKey, replayed } from '../../services/runs/replay-run.ts';
import { requireRun } from '../../services/service-deps.ts';
import { actorOf, type RequestDeps } from '../http/context.ts';
import { type Route, reply, routeOf } from '../http/route.ts';
import { json, keyHeaders } from '../http/schemas.ts';
import { redriveQuery, replayBody, runAnswer, runParams, runView } from '../runs/run-schemas.ts';
import { TAKEN } from '../runs/trigger.ts';

const route = routeOf('runs');

const ONE = '/v1/runs/{id}';

export const replayRoutes: Route[] = [
  route('replayRun', 'post', `${ONE}/replay`, {
    scope: 'sandboxes:write',
    summary: 'Have the event of a run run once more, as it was or edited',
    description: 'A new run, whatever became of the first, which stays as it is. `MAYFLY_REPLAY_OF` tells its process.',
    limit: LIMITS.functions.replayBytes,
    in: { params: runParams, headers: keyHeaders, body: replayBody },
    out: { 202: json('It is stored; Location says where to look', runAnswer) },
    problems: [TAKEN, 'run_not_found', 'run_is_batch', 'function_gone'],
    location: ({ id }) => `/v1/runs/${id}`,
    handle: async ({ c, deps, params, body: { version, event } }) => {
      const run = await requireRun(deps, params.id);
      const accepted = await replayed(deps, doorOf(deps), run, {
        version,
        event: event && getMemberText(await c.req.text(), 'event'),
        sameness: replayDedupeKey(c.get('apiKey').id, c.req.header('idempotency-key')),
        actor: actorOf(c),
      });
      return reply(202, runView(accepted.run), !accepted.isNew);
    },
  }),
  route('redriveRun', 'post', `${ONE}/redrive`, {
    scope: 'sandboxes:write',
    summary: 'Have another run take the place of a dead letter, once',
    description: 'Whoever asks again is told of the same run.',
    in: { params: runParams, query: redriveQuery },
    out: {
      200: json('It was redriven before: the run in its place', runAnswer),
      202: json('It is stored; Location says where to look', runAnswer),
    },
    problems: [TAKEN, 'run_not_found', 'run_is_batch', 'not_dead_letter', 'function_gone'],
    location: ({ id }) => `/v1/runs/${id}`,
    handle: async ({ c, deps, params, query }) => {
      const run = await requireRun(deps, params.id);
      const accepted = await redriven(deps, doorOf(deps), run, { ...query, actor: actorOf(c) });
      return reply(accepted.isNew ? 202 : 200, runView(accepted.run), !accepted.isNew);
    },
  }),
];

function doorOf({ acceptance }: RequestDeps): ReplayIntake {
  return { target: acceptance.target.bind(acceptance), accept: acceptance.acceptWhileRoom.bind(acceptance) };
}
