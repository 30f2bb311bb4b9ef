import { operationIdFrom } from '../../model/ids.ts';
import type { PauseOperation } from '../../model/sagas/messages.ts';
import { requireSandbox } from '../../services/require.ts';
import { operate } from '../../services/sandboxes/operation.ts';
import { actorOf } from '../http/auth.ts';

import { OPERATION, WAKE } from '../http/problem-answers.ts';
import { fail, type Responder, type Route, reply, routeOf } from '../http/route.ts';
import { idempotencyHeaders, json } from '../http/schemas.ts';
import { preferredWait } from '../http/waiting.ts';
import { answerOnce } from '../idempotency/answer-once.ts';
import { sandboxAnswer, sandboxParams } from '../resources/sandbox-schemas.ts';
import { type SandboxView, sandboxView } from '../resources/sandbox-view.ts';

const route = routeOf('sandboxes');
const location = ({ id }: { id: string }) => `/v1/sandboxes/${id}`;
const pending = json('It is under way; Location says where to look', sandboxAnswer);

export const pauseRoutes: Route[] = [
  route('pauseSandbox', 'post', '/v1/sandboxes/{id}/pause', {
    scope: 'sandboxes:write',
    summary: 'Stop the processors of a sandbox; its memory is kept, and so is its room on the host',
    in: { params: sandboxParams, headers: idempotencyHeaders },
    out: { 200: json('It is paused', sandboxAnswer), 202: pending },
    problems: [OPERATION],
    location,
    handle: (call) => answerOperation(call, 'pause', call.params.id),
  }),
  route('hibernateSandbox', 'post', '/v1/sandboxes/{id}/hibernate', {
    scope: 'sandboxes:write',
    summary: "Put a sandbox's memory on its host's disk, and give its room in memory back",
    in: { params: sandboxParams, headers: idempotencyHeaders },
    out: { 200: json('It is hibernated', sandboxAnswer), 202: pending },
    problems: [OPERATION, 'hibernate_failed', 'hibernation_unsupported'],
    location,
    handle: (call) => answerOperation(call, 'hibernate', call.params.id),
  }),
  route('resumeSandbox', 'post', '/v1/sandboxes/{id}/resume', {
    scope: 'sandboxes:write',
    summary: 'Let a paused or hibernated sandbox go on',
    in: { params: sandboxParams, headers: idempotencyHeaders },
    out: { 200: json('It runs', sandboxAnswer), 202: pending },
    problems: [WAKE],
    location,
    handle: (call) => answerOperation(call, 'resume', call.params.id),
  }),
];

const OUTCOME = { pause: 'paused', hibernate: 'hibernated', resume: 'running' } as const;

/** @throws MayflyError sandbox_not_found, sandbox_not_running, sandbox_ended, sandbox_busy, hibernation_unsupported */
async function answerOperation(
  responder: Responder<SandboxView>,
  kind: PauseOperation['kind'],
  sandboxId: string,
): Promise<Response> {
  const { c, deps } = responder;
  await requireSandbox(deps, sandboxId);
  const again = async (_id: string, firstStatus: number) => {
    const sandbox = await requireSandbox(deps, sandboxId);
    return reply(firstStatus === 200 || sandbox.state === OUTCOME[kind] ? 200 : 202, sandboxView(sandbox));
  };
  return answerOnce(responder, { idFrom: operationIdFrom, again }, async ({ subjectId: operationId }) => {
    const operation = { kind, operationId, actor: actorOf(c) };
    const { sandbox, isOver, error } = await operate(deps, sandboxId, operation, preferredWait(c));
    const view = sandboxView(sandbox);
    return error ? fail(error, { sandboxId }, view) : reply(isOver ? 200 : 202, view);
  });
}
