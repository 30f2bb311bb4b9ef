import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { isFinal, type SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { approvalAnswer } from '../approvals/approval-schemas.ts';
import { actorOf, requires } from '../http/auth.ts';
import { type App, type Env, type RequestDeps, serialised } from '../http/context.ts';
import { ASKED_FOR, BODY, CREATE, KEYED, problems } from '../http/problem-answers.ts';
import { idempotencyHeaders, json, noQuery, pageOf, preferHeaders } from '../http/schemas.ts';
import { answerDeletion } from '../resources/deletion.ts';
import { requireSandbox } from '../resources/require-sandbox.ts';
import {
  createSandbox,
  forksAnswer,
  listQuery,
  patchSandbox,
  sandboxAnswer,
  sandboxParams,
} from '../resources/sandbox-schemas.ts';
import { sandboxView } from '../resources/sandbox-view.ts';
import { answerCreate } from './create-sandbox.ts';
import { answerForks } from './fork-sandboxes.ts';

const ONE = '/v1/sandboxes/{id}';
const tags = ['sandboxes'];

const createOne = createRoute({
  method: 'post',
  path: '/v1/sandboxes',
  tags,
  operationId: 'createSandbox',
  summary: 'Make a sandbox, or forks of a snapshot',
  middleware: [requires('sandboxes:write')],
  request: {
    query: noQuery,
    headers: idempotencyHeaders,
    body: { required: true, content: { 'application/json': { schema: createSandbox } } },
  },
  responses: {
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
    ...problems(BODY, KEYED, ASKED_FOR, CREATE),
  },
});

const listAll = createRoute({
  method: 'get',
  path: '/v1/sandboxes',
  tags,
  operationId: 'listSandboxes',
  summary: 'List sandboxes, newest first',
  middleware: [requires('sandboxes:read')],
  request: { query: listQuery },
  responses: { 200: json('One page', pageOf(sandboxAnswer)), ...problems() },
});

const getOne = createRoute({
  method: 'get',
  path: ONE,
  tags,
  operationId: 'getSandbox',
  summary: 'Read one sandbox',
  middleware: [requires('sandboxes:read')],
  request: { params: sandboxParams, query: noQuery },
  responses: { 200: json('The sandbox', sandboxAnswer), ...problems('sandbox_not_found') },
});

const patchOne = createRoute({
  method: 'patch',
  path: ONE,
  tags,
  operationId: 'updateSandbox',
  summary: 'Extend a sandbox, or change its metadata',
  middleware: [requires('sandboxes:write')],
  request: {
    params: sandboxParams,
    query: noQuery,
    body: { required: true, content: { 'application/json': { schema: patchSandbox } } },
  },
  responses: {
    200: json('The changed sandbox', sandboxAnswer),
    ...problems(BODY, 'sandbox_not_found', 'sandbox_ended', 'temporal_unavailable'),
  },
});

const deleteOne = createRoute({
  method: 'delete',
  path: ONE,
  tags,
  operationId: 'destroySandbox',
  summary: 'End a sandbox, and prove that nothing of it is left',
  middleware: [requires('sandboxes:write')],
  request: { params: sandboxParams, query: noQuery, headers: preferHeaders },
  responses: {
    200: json('It is gone; `proof` says what was looked at', sandboxAnswer),
    202: json('It is being removed; Location says where to look', sandboxAnswer),
    ...problems('sandbox_not_found', 'temporal_unavailable'),
  },
});

export function sandboxRoutes(app: App): void {
  app.openapi(createOne, async (c) => {
    const request = c.req.valid('json');
    const answer = request.count === undefined ? answerCreate : answerForks;
    return serialised(await answer(c, c.get('deps'), request, c.req.valid('header')));
  });
  app.openapi(listAll, async (c) => {
    const { limit = LIMITS.page.default, cursor, state, alive, name, project } = c.req.valid('query');
    if (name !== undefined) {
      const named = await c.get('deps').store.sandboxes.named(name, project);
      const items = named && (state === undefined || named.state === state) ? [sandboxView(named)] : [];
      return c.json({ items, nextCursor: null }, 200);
    }
    const page = await c.get('deps').store.sandboxes.list({
      limit,
      ...(cursor !== undefined && { cursor }),
      ...(state && { state }),
      ...(project !== undefined && { project }),
      alive: alive !== undefined,
    });
    return c.json({ ...page, items: page.items.map(sandboxView) }, 200);
  });
  app.openapi(getOne, async (c) =>
    c.json(sandboxView(await requireSandbox(c.get('deps'), c.req.valid('param').id)), 200),
  );
  app.openapi(patchOne, async (c) => {
    const { id } = c.req.valid('param');
    const { ttlSeconds, idleSeconds, onIdle, autoResume, metadata } = c.req.valid('json');
    const patch = {
      actor: actorOf(c),
      ...(ttlSeconds !== undefined && { ttlSeconds }),
      ...(idleSeconds !== undefined && { idleSeconds }),
      ...(onIdle !== undefined && { onIdle }),
      ...(autoResume !== undefined && { autoResume }),
      ...(metadata !== undefined && { metadata }),
    };
    try {
      await c.get('deps').sagas.patch(id, patch);
    } catch (error) {
      refuseEnded(await requireSandbox(c.get('deps'), id)); // of one that never was there is no saga either
      throw error;
    }
    return c.json(sandboxView(await requireSandbox(c.get('deps'), id)), 200);
  });
  app.openapi(deleteOne, async (c) => {
    return serialised(await answerDelete(c, c.get('deps'), c.req.valid('param').id, c.req.valid('header').prefer));
  });
}

function refuseEnded({ id, state }: SandboxRecord): void {
  if (!isFinal(state) && state !== 'destroying') return;
  throw new MayflyError('sandbox_ended', `The sandbox ${id} is ${state}.`);
}

/** A store that was set back may lack the record of one that lives. @throws MayflyError sandbox_not_found */
async function requireOrRestore(deps: RequestDeps, id: string): Promise<SandboxRecord> {
  const { sandboxes, viewer } = deps.store;
  if (viewer.isOperator && (await sandboxes.get(id)) === null) await deps.sagas.restoreRecord(id);
  return requireSandbox(deps, id);
}

function answerDelete(c: Context<Env>, deps: RequestDeps, id: string, prefer: string | undefined): Promise<Response> {
  const { sagas } = deps;
  return answerDeletion(c, deps, prefer, {
    location: `/v1/sandboxes/${id}`,
    read: () => requireOrRestore(deps, id),
    view: sandboxView,
    isGone: ({ state }) => isFinal(state),
    begin: async ({ spec, createdBy, createdAt }, actor) => {
      await sagas.destroy({ id, spec, createdBy, requestedAt: createdAt, begin: 'destroy' }, { actor });
    },
    ended: (_record, signal) => sagas.ended(id, signal),
  });
}
