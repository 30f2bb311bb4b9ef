import { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import { getMemberText } from '../../model/events/json/member-text.ts';
import { ID_PATTERNS } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { intInRange } from '../../model/request-fields.ts';
import { WAITPOINT_TOKEN_PATTERN } from '../../model/waitpoints/token.ts';
import {
  DEFAULT_WAITPOINT,
  getEffectiveState,
  WAITPOINT_NAME,
  type WaitpointRecord,
  waitpointRecord,
} from '../../model/waitpoints/waitpoint.ts';
import { TokenBuckets } from '../../services/ingress/token-buckets.ts';
import { requireRun } from '../../services/service-deps.ts';
import { addToken, completeWaitpoint as complete, waitpointOf } from '../../services/waitpoints/waitpoint.ts';
import type { Unreadable } from '../../store/sealed/sealed-fields.ts';
import { type Route, routeOf } from '../http/route.ts';
import { answerList, json, listOf } from '../http/schemas.ts';
import { runParams } from '../runs/run-schemas.ts';

const { timeoutSeconds } = LIMITS.functions.waitpoints;

const createWaitpoint = z
  .strictObject({
    name: z
      .string()
      .regex(WAITPOINT_NAME, 'is not of a-z, 0-9 and -, of 63 characters at most, a letter first')
      .default(DEFAULT_WAITPOINT)
      .openapi({ description: 'By which the process of the run waits for it', example: 'approval' }),
    timeoutSeconds: intInRange(timeoutSeconds, 'seconds')
      .optional()
      .openapi({
        description: `From now on. Of one that is there it is set anew. ${timeoutSeconds.default} when it is made and nothing is said`,
      }),
  })
  .openapi('CreateWaitpoint');

const completeWaitpoint = z
  .strictObject({
    data: z
      .unknown()
      .refine((data) => data !== undefined, 'is missing')
      .openapi({ description: 'Any JSON, which the process is given', example: { approved: true } }),
  })
  .openapi('CompleteWaitpoint');

const tokenParams = z.strictObject({
  token: z.string().openapi({
    pattern: WAITPOINT_TOKEN_PATTERN,
    example: `mfw_0123456789abcdef_${'x'.repeat(43)}`,
  }),
});

export const waitpointAnswer = waitpointRecord
  .omit({ project: true, tokens: true, data: true })
  .extend({ id: z.string().openapi({ pattern: ID_PATTERNS.waitpoint, example: 'wp-0123456789abcdef' }) })
  .openapi('Waitpoint');

export const newToken = waitpointAnswer
  .extend({
    token: z.string().openapi({ pattern: WAITPOINT_TOKEN_PATTERN, description: 'Shown once: only its hash is stored' }),
    path: z.string().openapi({ description: 'Where its data is sent to, with POST and without an API key' }),
  })
  .openapi('WaitpointToken');

const completedAnswer = waitpointRecord
  .pick({ name: true, state: true, completedAt: true })
  .openapi('CompletedWaitpoint');

function waitpointView(record: WaitpointRecord) {
  return { ...record, state: getEffectiveState(record, Date.now()) };
}

const route = routeOf('runs');

const PATH = '/v1/runs/{id}/waitpoints';

export const waitpointRoutes: Route[] = [
  route('createWaitpoint', 'post', PATH, {
    scope: 'sandboxes:write',
    summary: 'Have the process of a run wait for data from outside, and get a token with which that is sent',
    description:
      'A run has one waitpoint of each name, whoever speaks of it first: its process or a request. Each request has a token of its own, and each completes it.',
    in: { params: runParams, body: createWaitpoint },
    out: { 201: json('The waitpoint, and a new token', newToken) },
    problems: ['run_not_found', 'run_has_ended', 'waitpoint_completed', 'waitpoint_expired', 'waitpoints_full'],
    handle: async ({ c, deps, actor, params, body }) => {
      const run = await requireRun(deps, params.id);
      const { waitpoint, token } = await addToken(deps, run, actor, body);
      c.header('Cache-Control', 'no-store');
      return { ...waitpointView(waitpoint), token, path: `/v1/waitpoints/${token}` };
    },
  }),
  route('listWaitpoints', 'get', PATH, {
    scope: 'sandboxes:read',
    summary: 'List the waitpoints of a run, the oldest first',
    in: { params: runParams },
    out: { 200: json('All of them', listOf(waitpointAnswer)) },
    problems: ['run_not_found'],
    handle: async ({ deps, store, params }) => {
      const { id } = await requireRun(deps, params.id);
      const unreadable: Unreadable[] = [];
      return answerList((await store.waitpoints.list(id, unreadable)).map(waitpointView), unreadable);
    },
  }),
];

/** Shared bucket of all invalid tokens: with one each, guesses would be unlimited. */
const UNKNOWN_BUCKET = '';
const { requestsPerSecond } = LIMITS.functions.waitpoints;

const completeWith = (buckets: TokenBuckets) =>
  route('completeWaitpoint', 'post', '/v1/waitpoints/{token}', {
    scope: 'open',
    summary: 'Send the data that the process of a run waits for; the token is the credential, and it takes no API key',
    description: 'The first data counts. The same again is answered as the first time, other data is refused.',
    limit: LIMITS.functions.waitpoints.bodyBytes,
    in: { params: tokenParams, body: completeWaitpoint },
    out: {
      200: json('The data is stored, now or before: the process is given it as long as it runs', completedAnswer),
    },
    problems: ['waitpoint_not_found', 'waitpoint_completed', 'waitpoint_expired', 'too_many_requests'],
    handle: async ({ c, wholeStore: store, params }) => {
      const found = await waitpointOf(store, params.token);
      if (!buckets.take(found?.waitpoint.id ?? UNKNOWN_BUCKET)) {
        throw new MayflyError('too_many_requests', `More than ${requestsPerSecond} requests a second come here.`, {
          retryAfterSeconds: 1,
        });
      }
      if (!found) throw new MayflyError('waitpoint_not_found', 'There is no such waitpoint.');
      const data = getMemberText(await c.req.text(), 'data') ?? '';
      return complete(store, found.waitpoint, data, found.token);
    },
  });

export const waitpointEndpointRoutes: Route[] = [(app) => completeWith(new TokenBuckets(requestsPerSecond))(app)];
