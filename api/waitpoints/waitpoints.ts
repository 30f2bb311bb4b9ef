import { randomBytes } from 'node:crypto';
import type { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { hashOf, tokenOf } from '../../model/waitpoints/token.ts';
import { newWaitpoint, stateOf, type WaitpointRecord } from '../../model/waitpoints/waitpoint.ts';
import { requireRun } from '../../services/require.ts';
import type { Unreadable } from '../../store/sealed/sealed-fields.ts';
import { actorOf } from '../http/auth.ts';
import type { RequestDeps } from '../http/context.ts';
import { type Route, routeOf } from '../http/route.ts';
import { answerList, json, listOf } from '../http/schemas.ts';
import { runParams } from '../runs/run-schemas.ts';
import { createWaitpoint, newToken, waitpointAnswer, waitpointView } from './waitpoint-schemas.ts';

const route = routeOf('runs');

const PATH = '/v1/runs/{id}/waitpoints';
const SECRET_BYTES = 32;
const limits = LIMITS.functions.waitpoints;

export const waitpointRoutes: Route[] = [
  route('createWaitpoint', 'post', PATH, {
    scope: 'sandboxes:write',
    summary: 'Have the process of a run wait for data from outside, and get a token with which that is sent',
    description:
      'A run has one waitpoint of each name, whoever speaks of it first: its process or a request. Each request has a token of its own, and each completes it.',
    in: { params: runParams, body: createWaitpoint },
    out: { 201: json('The waitpoint, and a new token', newToken) },
    problems: ['run_not_found', 'run_has_ended', 'waitpoint_completed', 'waitpoint_expired', 'waitpoints_full'],
    handle: async ({ c, deps, params, body }) => {
      const run = await requireRun(deps, params.id);
      const { waitpoint, token } = await withToken(deps, run, actorOf(c), body);
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

/** @throws MayflyError run_has_ended, waitpoint_completed, waitpoint_expired, waitpoints_full */
async function withToken(
  { store }: RequestDeps,
  run: RunRecord,
  createdBy: Actor,
  { name, timeoutSeconds }: z.infer<typeof createWaitpoint>,
): Promise<{ waitpoint: WaitpointRecord; token: string }> {
  if (run.state === 'ended') throw new MayflyError('run_has_ended', `${run.id} has ended.`);
  const wish = { name, timeoutSeconds: timeoutSeconds ?? limits.timeoutSeconds.default };
  const wanted = newWaitpoint(run, wish, createdBy, Date.now());
  const { id } = wanted;
  const present = await store.waitpoints.list(run.id);
  if (!present.some((each) => each.id === id) && present.length >= limits.count) {
    throw new MayflyError('waitpoints_full', `${run.id} has ${present.length} waitpoints.`);
  }
  const found = await store.waitpoints.ensure(wanted);
  refuseUnlessOpen(found);
  if (found.tokens.length >= limits.tokens) {
    throw new MayflyError('waitpoints_full', `${name} of ${run.id} has ${limits.tokens} tokens.`);
  }
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  const expiresAt = timeoutSeconds === undefined ? null : wanted.expiresAt;
  if (!(await store.waitpoints.addToken(id, hashOf(secret), expiresAt))) {
    refuseUnlessOpen(await store.waitpoints.ensure(wanted));
  }
  if (expiresAt !== null) await store.waitingRuns.wake(run.id); // its time may be over sooner
  return { waitpoint: { ...found, expiresAt: expiresAt ?? found.expiresAt }, token: tokenOf(id, secret) };
}

/** @throws MayflyError waitpoint_completed, waitpoint_expired */
function refuseUnlessOpen(waitpoint: WaitpointRecord): void {
  const { name, runId, expiresAt } = waitpoint;
  const state = stateOf(waitpoint, Date.now());
  if (state === 'completed') throw new MayflyError('waitpoint_completed', `${name} of ${runId} is completed.`);
  if (state === 'expired') throw new MayflyError('waitpoint_expired', `The time of ${name} was over at ${expiresAt}.`);
}
