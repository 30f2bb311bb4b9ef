import { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import { operationIdFrom } from '../../model/ids.ts';
import type { PauseOperation } from '../../model/sagas/messages.ts';
import { toAdoptionInput } from '../../model/sagas/reconcile.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { operate } from '../../services/sandboxes/operation.ts';
import { requireSandbox } from '../../services/service-deps.ts';
import { approvalAnswer } from '../approvals/approval-schemas.ts';
import { actorOf, preferredWait, type RequestDeps } from '../http/context.ts';
import { fail, type Responder, type Route, reply, routeOf } from '../http/route.ts';
import {
  CREATE,
  idempotencyHeaders,
  json,
  OPERATION,
  POLICY_CODES,
  pageOf,
  preferHeaders,
  WAKE,
} from '../http/schemas.ts';
import { answerOnce } from '../idempotency/answer-once.ts';
import { answerDeletion } from '../resources/deletion.ts';
import {
  createSandbox,
  forksAnswer,
  listQuery,
  patchSandbox,
  type SandboxView,
  sandboxAnswer,
  sandboxParams,
  sandboxView,
} from '../resources/sandbox-schemas.ts';
import { answerCreate, answerForks } from './create-sandbox.ts';

const route = routeOf('sandboxes');

const ONE = '/v1/sandboxes/{id}';

export const sandboxRoutes: Route[] = [
  route('createSandbox', 'post', '/v1/sandboxes', {
    scope: 'sandboxes:write',
    summary: 'Make a sandbox, or forks of a snapshot',
    in: { headers: idempotencyHeaders, body: createSandbox },
    out: {
      200: json(
        'It was made by an earlier request with this Idempotency-Key, and does not run now',
        z.union([sandboxAnswer, forksAnswer]),
      ),
      201: json('It runs, and SSH was verified; with `count`, all do', z.union([sandboxAnswer, forksAnswer])),
      202: json(
        'It is being made, or waits for approval; Location says where to look',
        z.union([sandboxAnswer, forksAnswer, approvalAnswer]),
      ),
      207: json('With `count`: some will not run, and each item says whether it does', forksAnswer),
    },
    problems: [POLICY_CODES, CREATE],
    location: (made) => ('spec' in made ? `/v1/sandboxes/${made.id}` : undefined),
    handle: (call) => (call.body.count === undefined ? answerCreate : answerForks)(call, call.body),
  }),
  route('listSandboxes', 'get', '/v1/sandboxes', {
    scope: 'sandboxes:read',
    summary: 'List sandboxes, newest first',
    in: { query: listQuery },
    out: { 200: json('One page', pageOf(sandboxAnswer)) },
    handle: async ({ store, query }) => {
      const { limit, cursor, state, alive, name, project } = query;
      if (name !== undefined) {
        const named = await store.sandboxes.named(name, project);
        const items = named && (state === undefined || named.state === state) ? [sandboxView(named)] : [];
        return { items, nextCursor: null };
      }
      const page = await store.sandboxes.list({
        limit,
        cursor,
        ...(state && { state }),
        ...(project !== undefined && { project }),
        alive: alive !== undefined,
      });
      return { ...page, items: page.items.map(sandboxView) };
    },
  }),
  route('getSandbox', 'get', ONE, {
    scope: 'sandboxes:read',
    summary: 'Read one sandbox',
    in: { params: sandboxParams },
    out: { 200: json('The sandbox', sandboxAnswer) },
    problems: ['sandbox_not_found'],
    handle: async ({ deps, params }) => sandboxView(await requireSandbox(deps, params.id)),
  }),
  route('updateSandbox', 'patch', ONE, {
    scope: 'sandboxes:write',
    summary: 'Extend a sandbox, or change its metadata',
    in: { params: sandboxParams, body: patchSandbox },
    out: { 200: json('The changed sandbox', sandboxAnswer) },
    problems: ['sandbox_not_found', 'sandbox_ended', 'temporal_unavailable'],
    handle: async ({ c, deps, params: { id }, body: { ttlSeconds, idleSeconds, onIdle, autoResume, metadata } }) => {
      const patch = {
        actor: actorOf(c),
        ...(ttlSeconds !== undefined && { ttlSeconds }),
        ...(idleSeconds !== undefined && { idleSeconds }),
        ...(onIdle !== undefined && { onIdle }),
        ...(autoResume !== undefined && { autoResume }),
        ...(metadata !== undefined && { metadata }),
      };
      try {
        await deps.sagas.sandboxes.patch(id, patch);
      } catch (error) {
        refuseEnded(await requireSandbox(deps, id)); // an ended or unknown sandbox has no workflow
        throw error;
      }
      return sandboxView(await requireSandbox(deps, id));
    },
  }),
  route('deleteSandbox', 'delete', ONE, {
    scope: 'sandboxes:write',
    summary: 'End a sandbox, and prove that nothing of it is left',
    in: { params: sandboxParams, headers: preferHeaders },
    out: {
      200: json('It is gone; `proof` says what was looked at', sandboxAnswer),
      202: json('It is being removed; Location says where to look', sandboxAnswer),
    },
    problems: ['sandbox_not_found', 'temporal_unavailable'],
    location: ({ id }) => `/v1/sandboxes/${id}`,
    handle: (call) => answerDelete(call, call.params.id),
  }),
];

function refuseEnded({ id, state }: SandboxRecord): void {
  if (!isFinal(state) && state !== 'destroying') return;
  throw new MayflyError('sandbox_ended', `The sandbox ${id} is ${state}.`);
}

/**
 * Returns the record. For operators, restores the lost record of a live sandbox first.
 * @throws MayflyError sandbox_not_found
 */
async function requireOrRestore(deps: RequestDeps, id: string): Promise<SandboxRecord> {
  const { sandboxes, viewer } = deps.store;
  if (viewer.isOperator && (await sandboxes.get(id)) === null) await deps.sagas.sandboxes.restoreRecord(id);
  return requireSandbox(deps, id);
}

function answerDelete(responder: Responder<SandboxView>, id: string): Promise<Response> {
  const { deps } = responder;
  const { sagas } = deps;
  return answerDeletion(responder, {
    read: () => requireOrRestore(deps, id),
    view: sandboxView,
    isGone: ({ state }) => isFinal(state),
    begin: (record, actor) => sagas.sandboxes.destroy(toAdoptionInput(record, 'destroy'), { actor }),
    ended: (_record, signal) => sagas.sandboxes.ended(id, signal),
  });
}

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
