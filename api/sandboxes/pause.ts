import type { Context } from 'hono';
import { operationIdFrom } from '../../model/ids.ts';
import type { PauseOperation } from '../../model/sagas/messages.ts';
import { requireSandbox } from '../../services/require.ts';
import { operate } from '../../services/sandboxes/operation.ts';
import { actorOf } from '../http/auth.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { problemResponse } from '../http/problem.ts';
import { OPERATION, WAKE } from '../http/problem-answers.ts';
import { type Route, routeOf } from '../http/route.ts';
import { idempotencyHeaders, json } from '../http/schemas.ts';
import { preferredWait } from '../http/waiting.ts';
import { answerOnce } from '../idempotency/answer-once.ts';
import { sandboxAnswer, sandboxParams } from '../resources/sandbox-schemas.ts';
import { sandboxView } from '../resources/sandbox-view.ts';

const route = routeOf('sandboxes');
const pending = json('It is under way; Location says where to look', sandboxAnswer);

export const pauseRoutes: Route[] = [
  route('pauseSandbox', 'post', '/v1/sandboxes/{id}/pause', {
    scope: 'sandboxes:write',
    summary: 'Stop the processors of a sandbox; its memory is kept, and so is its room on the host',
    in: { params: sandboxParams, headers: idempotencyHeaders },
    out: { 200: json('It is paused', sandboxAnswer), 202: pending },
    problems: [OPERATION],
    handle: ({ c, deps, params }) => answerOperation(c, deps, 'pause', params.id),
  }),
  route('hibernateSandbox', 'post', '/v1/sandboxes/{id}/hibernate', {
    scope: 'sandboxes:write',
    summary: "Put a sandbox's memory on its host's disk, and give its room in memory back",
    in: { params: sandboxParams, headers: idempotencyHeaders },
    out: { 200: json('It is hibernated', sandboxAnswer), 202: pending },
    problems: [OPERATION, 'hibernate_failed', 'hibernation_unsupported'],
    handle: ({ c, deps, params }) => answerOperation(c, deps, 'hibernate', params.id),
  }),
  route('resumeSandbox', 'post', '/v1/sandboxes/{id}/resume', {
    scope: 'sandboxes:write',
    summary: 'Let a paused or hibernated sandbox go on',
    in: { params: sandboxParams, headers: idempotencyHeaders },
    out: { 200: json('It runs', sandboxAnswer), 202: pending },
    problems: [WAKE],
    handle: ({ c, deps, params }) => answerOperation(c, deps, 'resume', params.id),
  }),
];

const OUTCOME = { pause: 'paused', hibernate: 'hibernated', resume: 'running' } as const;

/** @throws MayflyError sandbox_not_found, sandbox_not_running, sandbox_ended, sandbox_busy, hibernation_unsupported */
async function answerOperation(
  c: Context<Env>,
  deps: RequestDeps,
  kind: PauseOperation['kind'],
  sandboxId: string,
): Promise<Response> {
  await requireSandbox(deps, sandboxId);
  const again = async (_id: string, firstStatus: number) => {
    const sandbox = await requireSandbox(deps, sandboxId);
    c.header('Location', `/v1/sandboxes/${sandboxId}`);
    return c.json(sandboxView(sandbox), firstStatus === 200 || sandbox.state === OUTCOME[kind] ? 200 : 202);
  };
  return answerOnce(c, { idFrom: operationIdFrom, again }, async ({ subjectId: operationId }) => {
    const operation = { kind, operationId, actor: actorOf(c) };
    const { sandbox, isOver, error } = await operate(deps, sandboxId, operation, preferredWait(c));
    c.header('Location', `/v1/sandboxes/${sandboxId}`);
    return error ? problemResponse(c, error, { sandboxId }) : c.json(sandboxView(sandbox), isOver ? 200 : 202);
  });
}
