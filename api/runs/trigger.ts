import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { ERRORS, MayflyError } from '../../model/errors.ts';
import { readBatch } from '../../model/events/batch.ts';
import { detectContentMode } from '../../model/events/content-mode.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import { LIMITS } from '../../model/limits.ts';
import { type IngestResult, sha256 } from '../../services/intake/accept-event.ts';
import { eventDedupeKey, receivedEvent } from '../../services/runs/received.ts';
import { readResult } from '../../services/runs/run-content.ts';
import { actorOf, type Env, preferenceOf } from '../http/context.ts';
import { REPLAYED, type Route, reply, routeOf } from '../http/route.ts';
import { BODY, json } from '../http/schemas.ts';
import {
  answerContent,
  batchAnswer,
  endOfRun,
  runAnswer,
  runView,
  triggerHeaders,
  triggerParams,
  triggerQuery,
} from './run-schemas.ts';

const route = routeOf('functions');

const ONE = '/v1/functions/{name}';
const location = ({ id }: { id: string }) => `/v1/runs/${id}`;
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
const anyBody = () => ({
  required: true,
  content: {
    'application/json': { schema: {} },
    'application/cloudevents+json': { schema: { type: 'object' as const } },
  },
});

export const triggerRoutes: Route[] = [
  route('createRun', 'post', `${ONE}/runs`, {
    scope: 'sandboxes:write',
    summary: 'Have an event run: it is stored when this answers',
    description:
      'JSON, or a CloudEvent in structured or binary mode. The same event again, by its source and id or by the Idempotency-Key, is told of the same run.',
    limit: LIMITS.functions.eventBytes.max,
    in: { params: triggerParams, query: triggerQuery, headers: triggerHeaders, media: anyBody() },
    out: {
      201: json('It has ended: the caller preferred to wait', runAnswer),
      202: json('It is stored; Location says where to look', runAnswer),
    },
    problems: [BODY, TAKEN],
    location,
    handle: async ({ c, deps, params, query }) => {
      const { run, isNew } = await toResponse(c, params.name, query.delaySeconds);
      const { seconds, applied } = preferenceOf(c.req.header('prefer'));
      if (applied === null) return reply(202, runView(run), !isNew);
      const latest = await endOfRun(c, deps, run, { watch: deps.runWatch, until: 'ended', seconds });
      return reply(latest.state === 'ended' ? 201 : 202, runView(latest), !isNew);
    },
  }),
  route('createRuns', 'post', `${ONE}/runs:batch`, {
    scope: 'sandboxes:write',
    summary: `Have up to ${LIMITS.functions.batch} events run, each by itself`,
    limit: LIMITS.functions.eventBytes.max,
    in: {
      params: triggerParams,
      media: {
        required: true,
        content: { 'application/cloudevents-batch+json': { schema: { type: 'array', items: { type: 'object' } } } },
      },
    },
    out: { 207: json('What became of each, in their order', batchAnswer) },
    problems: [BODY, TAKEN],
    handle: async ({ c, deps, params: { name } }) => {
      const target = await deps.acceptance.target(deps, name);
      if (detectContentMode(c.req.header('content-type'), false) !== 'batch') {
        throw new MayflyError('unsupported_media_type', 'A batch is application/cloudevents-batch+json.');
      }
      const batch = readBatch(new Uint8Array(await c.req.arrayBuffer()), LIMITS.functions.batch);
      const actor = actorOf(c);
      const items = await Promise.all(
        batch.map(async (item) => {
          if ('problem' in item) return refusedItem(item.problem);
          const { event } = item;
          try {
            const arrival = { event, sameness: eventDedupeKey(event), digest: sha256(event.json), actor };
            const { run, isNew } = await deps.acceptance.acceptWhileRoom(deps, target, arrival);
            return { status: isNew ? 202 : 200, runId: run.id, isNew };
          } catch (error) {
            if (error instanceof MayflyError) return refusedItem(error);
            throw error;
          }
        }),
      );
      return { items };
    },
  }),
  route('invokeFunction', 'post', `${ONE}/invoke`, {
    scope: 'sandboxes:write',
    summary: 'Have an event run, and wait for its result',
    description:
      'Who leaves ends nothing: the same request again, with its Idempotency-Key, has the result of the same run.',
    limit: LIMITS.functions.eventBytes.max,
    in: { params: triggerParams, headers: triggerHeaders, media: anyBody() },
    out: {
      200: {
        description: 'What it wrote as its result, with its own content type; Mayfly-Run-Id says which run it was',
        content: { 'application/json': { schema: z.unknown() }, 'application/octet-stream': { schema: z.unknown() } },
      },
      202: json('It has not ended; Location says where to look', runAnswer),
      204: { description: 'It succeeded, and wrote no result' },
    },
    problems: [BODY, TAKEN, 'run_skipped', 'run_failed', 'run_timed_out'],
    handle: async ({ c, deps, params }) => {
      const { run, isNew } = await toResponse(c, params.name);
      const { seconds } = preferenceOf(c.req.header('prefer'));
      const latest = await endOfRun(c, deps, run, { watch: deps.runWatch, until: 'ended', seconds });
      c.header('Mayfly-Run-Id', run.id);
      c.header('Location', location(run));
      if (latest.state !== 'ended') return reply(202, runView(latest), !isNew);
      if (!isNew) c.header(REPLAYED, 'true');
      if (latest.outcome !== 'succeeded') throw unsuccessful(latest);
      return latest.result ? answerContent(c, readResult(deps, latest), latest.result.partial) : undefined;
    },
  }),
];

async function toResponse(c: Context<Env>, name: string, delaySeconds?: number): Promise<IngestResult> {
  const deps = c.get('deps');
  const target = await deps.acceptance.target(deps, name);
  const body = new Uint8Array(await c.req.arrayBuffer());
  const sent = { headers: [...c.req.raw.headers], body, key: c.req.header('idempotency-key') };
  const received = receivedEvent(sent, c.get('apiKey'), name);
  return deps.acceptance.acceptWhileRoom(deps, target, { ...received, delaySeconds, actor: actorOf(c) });
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
