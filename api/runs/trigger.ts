import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { ERRORS, MayflyError } from '../../model/errors.ts';
import { readBatch } from '../../model/events/batch.ts';
import { contentModeOf } from '../../model/events/content-mode.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import { LIMITS } from '../../model/limits.ts';
import { type Accepted, sha256 } from '../acceptance/accept-event.ts';
import type { Acceptance } from '../acceptance/acceptance.ts';
import { receivedEvent, sameEvent } from '../acceptance/received.ts';
import { actorOf, requires } from '../http/auth.ts';
import { type App, type Env, serialised } from '../http/context.ts';
import { REPLAYED } from '../http/idempotency.ts';
import { preferenceOf } from '../http/prefer.ts';
import { BODY, KEYED, problems } from '../http/problem-answers.ts';
import { json, noQuery } from '../http/schemas.ts';
import { endOfRun } from './end-of-run.ts';
import { answerResult } from './result.ts';
import { batchAnswer, runAnswer, triggerHeaders, triggerParams, triggerQuery } from './run-schemas.ts';
import { runView } from './run-view.ts';
import type { RunWatch } from './run-watch.ts';

const ONE = '/v1/functions/{name}';
const tags = ['functions'];
const middleware = [requires('sandboxes:write')];
export const TAKEN = [
  'function_not_found',
  'function_draining',
  'invalid_event',
  'event_conflict',
  'event_too_large',
  'event_invalid',
  'key_invalid',
  'schema_too_slow',
  'queue_full',
  'too_many_requests',
] as const;
const anyBody = {
  required: true,
  content: {
    'application/json': { schema: {} },
    'application/cloudevents+json': { schema: { type: 'object' as const } },
  },
};

const runOne = createRoute({
  method: 'post',
  path: `${ONE}/runs`,
  tags,
  operationId: 'createRun',
  summary: 'Have an event run: it is stored when this answers',
  description:
    'JSON, or a CloudEvent in structured or binary mode. The same event again, by its source and id or by the Idempotency-Key, is told of the same run.',
  middleware,
  request: { params: triggerParams, query: triggerQuery, headers: triggerHeaders },
  requestBody: anyBody,
  responses: {
    201: json('It has ended: the caller preferred to wait', runAnswer),
    202: json('It is stored; Location says where to look', runAnswer),
    ...problems(BODY, KEYED, TAKEN),
  },
});

const runBatch = createRoute({
  method: 'post',
  path: `${ONE}/runs:batch`,
  tags,
  operationId: 'createRuns',
  summary: `Have up to ${LIMITS.functions.batch} events run, each by itself`,
  middleware,
  request: { params: triggerParams, query: noQuery },
  requestBody: {
    required: true,
    content: { 'application/cloudevents-batch+json': { schema: { type: 'array', items: { type: 'object' } } } },
  },
  responses: { 207: json('What became of each, in their order', batchAnswer), ...problems(BODY, TAKEN) },
});

const invokeOne = createRoute({
  method: 'post',
  path: `${ONE}/invoke`,
  tags,
  operationId: 'invokeFunction',
  summary: 'Have an event run, and wait for its result',
  description:
    'Who leaves ends nothing: the same request again, with its Idempotency-Key, has the result of the same run.',
  middleware,
  request: { params: triggerParams, query: noQuery, headers: triggerHeaders },
  requestBody: anyBody,
  responses: {
    200: {
      description: 'What it wrote as its result, with its own content type; Mayfly-Run-Id says which run it was',
      content: { 'application/json': { schema: z.unknown() }, 'application/octet-stream': { schema: z.unknown() } },
    },
    202: json('It has not ended; Location says where to look', runAnswer),
    204: { description: 'It succeeded, and wrote no result' },
    ...problems(BODY, KEYED, TAKEN, 'run_skipped', 'run_failed', 'run_timed_out'),
  },
});

export function triggerRoutes(app: App, acceptance: Acceptance, watch: RunWatch): void {
  async function accepted(
    c: Context<Env>,
    name: string,
    { key, delaySeconds }: { key: string | undefined; delaySeconds?: number | undefined },
  ): Promise<Accepted> {
    const deps = c.get('deps');
    const target = await acceptance.target(deps, name);
    const received = await receivedEvent(c, name, key);
    const accept = await acceptance.acceptWhileRoom(deps, target, { ...received, delaySeconds, actor: actorOf(c) });
    c.header('Location', `/v1/runs/${accept.run.id}`);
    if (!accept.isNew) c.header(REPLAYED, 'true');
    return accept;
  }

  app.openapi(runOne, async (c) => {
    const { 'idempotency-key': key, prefer } = c.req.valid('header');
    const { run } = await accepted(c, c.req.valid('param').name, { key, ...c.req.valid('query') });
    const { seconds, applied } = preferenceOf(prefer);
    if (applied === null) return c.json(runView(run), 202);
    c.header('Preference-Applied', applied);
    const latest = await endOfRun(c, c.get('deps'), run, { watch, until: 'ended', seconds });
    return c.json(runView(latest), latest.state === 'ended' ? 201 : 202);
  });

  app.openapi(runBatch, async (c) => {
    const { name } = c.req.valid('param');
    const deps = c.get('deps');
    const target = await acceptance.target(deps, name);
    if (contentModeOf(c.req.header('content-type'), false) !== 'batch') {
      throw new MayflyError('unsupported_media_type', 'A batch is application/cloudevents-batch+json.');
    }
    const batch = readBatch(new Uint8Array(await c.req.arrayBuffer()), LIMITS.functions.batch);
    const actor = actorOf(c);
    const items = await Promise.all(
      batch.map(async (item) => {
        if ('problem' in item) return refusedItem(item.problem);
        const { event } = item;
        try {
          const arrival = { event, sameness: sameEvent(event), digest: sha256(event.json), actor };
          const { run, isNew } = await acceptance.acceptWhileRoom(deps, target, arrival);
          return { status: isNew ? 202 : 200, runId: run.id, isNew };
        } catch (error) {
          if (error instanceof MayflyError) return refusedItem(error);
          throw error;
        }
      }),
    );
    return c.json({ items }, 207);
  });

  app.openapi(invokeOne, async (c) => {
    const { 'idempotency-key': key, prefer } = c.req.valid('header');
    const deps = c.get('deps');
    const { run } = await accepted(c, c.req.valid('param').name, { key });
    const { seconds, applied } = preferenceOf(prefer);
    if (applied !== null) c.header('Preference-Applied', applied);
    const latest = await endOfRun(c, deps, run, { watch, until: 'ended', seconds });
    c.header('Mayfly-Run-Id', run.id);
    if (latest.state !== 'ended') return c.json(runView(latest), 202);
    if (latest.outcome !== 'succeeded') throw unsuccessful(latest);
    return latest.result ? serialised(await answerResult(c, deps, latest)) : c.body(null, 204);
  });
}

function refusedItem({ code, message, options: { fields } }: MayflyError) {
  return { status: ERRORS[code].status, problem: { code, detail: message, ...(fields && { errors: fields }) } };
}

function unsuccessful({ id, outcome, failure, skippedFor, supersededBy }: RunRecord): MayflyError {
  if (outcome === 'skipped') {
    const by = supersededBy === null ? '' : ` by ${supersededBy}`;
    return new MayflyError('run_skipped', `${id} is skipped: ${skippedFor}${by}.`);
  }
  const why = failure ? `: ${failure.message}` : '';
  return new MayflyError(outcome === 'timed-out' ? 'run_timed_out' : 'run_failed', `${id} is ${outcome}${why}.`);
}
