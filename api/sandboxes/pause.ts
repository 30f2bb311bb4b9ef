import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { operationIdFrom } from '../../model/ids.ts';
import type { PauseOperation } from '../../model/sagas/messages.ts';
import { actorOf, requires } from '../http/auth.ts';
import { type App, type Env, type RequestDeps, serialised } from '../http/context.ts';
import { answerOnce, isHeard } from '../http/idempotency.ts';
import { problemResponse } from '../http/problem.ts';
import { KEYED, OPERATION, problems, WAKE } from '../http/problem-answers.ts';
import { type IdempotencyHeaders, idempotencyHeaders, json, noQuery } from '../http/schemas.ts';
import { requireSandbox } from '../resources/require-sandbox.ts';
import { sandboxAnswer, sandboxParams } from '../resources/sandbox-schemas.ts';
import { sandboxView } from '../resources/sandbox-view.ts';
import { awaitOperation, beginOperation, failureOf } from './operation.ts';

const tags = ['sandboxes'];
const middleware = [requires('sandboxes:write')];
const request = { params: sandboxParams, query: noQuery, headers: idempotencyHeaders };
const pending = json('It is under way; Location says where to look', sandboxAnswer);

const pauseOne = createRoute({
  method: 'post',
  path: '/v1/sandboxes/{id}/pause',
  tags,
  operationId: 'pauseSandbox',
  summary: 'Stop the processors of a sandbox; its memory is kept, and so is its room on the host',
  middleware,
  request,
  responses: { 200: json('It is paused', sandboxAnswer), 202: pending, ...problems(KEYED, OPERATION) },
});

const hibernateOne = createRoute({
  method: 'post',
  path: '/v1/sandboxes/{id}/hibernate',
  tags,
  operationId: 'hibernateSandbox',
  summary: "Put a sandbox's memory on its host's disk, and give its room in memory back",
  middleware,
  request,
  responses: {
    200: json('It is hibernated', sandboxAnswer),
    202: pending,
    ...problems(KEYED, OPERATION, 'hibernate_failed', 'hibernation_unsupported'),
  },
});

const resumeOne = createRoute({
  method: 'post',
  path: '/v1/sandboxes/{id}/resume',
  tags,
  operationId: 'resumeSandbox',
  summary: 'Let a paused or hibernated sandbox go on',
  middleware,
  request,
  responses: { 200: json('It runs', sandboxAnswer), 202: pending, ...problems(KEYED, WAKE) },
});

export function pauseRoutes(app: App): void {
  app.openapi(pauseOne, async (c) => {
    return serialised(await answer(c, c.get('deps'), 'pause', c.req.valid('param').id, c.req.valid('header')));
  });
  app.openapi(hibernateOne, async (c) => {
    return serialised(await answer(c, c.get('deps'), 'hibernate', c.req.valid('param').id, c.req.valid('header')));
  });
  app.openapi(resumeOne, async (c) => {
    return serialised(await answer(c, c.get('deps'), 'resume', c.req.valid('param').id, c.req.valid('header')));
  });
}

const OUTCOME = { pause: 'paused', hibernate: 'hibernated', resume: 'running' } as const;

/** @throws MayflyError sandbox_not_found, sandbox_not_running, sandbox_ended, sandbox_busy, hibernation_unsupported */
async function answer(
  c: Context<Env>,
  deps: RequestDeps,
  kind: PauseOperation['kind'],
  sandboxId: string,
  headers: IdempotencyHeaders,
): Promise<Response> {
  await requireSandbox(deps, sandboxId);
  const again = async (_id: string, firstStatus: number) => {
    const sandbox = await requireSandbox(deps, sandboxId);
    c.header('Location', `/v1/sandboxes/${sandboxId}`);
    return c.json(sandboxView(sandbox), firstStatus === 200 || sandbox.state === OUTCOME[kind] ? 200 : 202);
  };
  const asked = { idFrom: operationIdFrom, key: headers['idempotency-key'], body: null, again };
  return answerOnce(c, deps.store, asked, async (attempt) => {
    const operationId = attempt.subjectId;
    const actor = actorOf(c);
    await beginOperation(deps, attempt, sandboxId, { kind, operationId, actor });
    const outcome = await awaitOperation(c, deps, { sandboxId, operationId }, headers.prefer);
    const sandbox = await requireSandbox(deps, sandboxId);
    c.header('Location', `/v1/sandboxes/${sandboxId}`);
    const error = outcome.isOver ? failureOf(outcome, sandbox) : null;
    const response = error
      ? problemResponse(c, error, { sandboxId })
      : c.json(sandboxView(sandbox), outcome.isOver ? 200 : 202);
    return { response, isKept: isHeard(c) };
  });
}
