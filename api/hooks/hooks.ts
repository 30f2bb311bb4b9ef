import { createRoute } from '@hono/zod-openapi';
import { hookIdFrom } from '../../model/ids.ts';
import type { HookChanges } from '../../store/functions/hooks.ts';
import type { Unreadable } from '../../store/sealed/sealed-fields.ts';
import { requireFunction } from '../functions/function-view.ts';
import { actorOf, requires } from '../http/auth.ts';
import { type App, answerRaw, type RequestDeps, serialised } from '../http/context.ts';
import { answerOnce, freedWhenRefused } from '../http/idempotency.ts';
import { BODY, KEYED, problems } from '../http/problem-answers.ts';
import { answerList, json, keyHeaders, listOf, noQuery } from '../http/schemas.ts';
import {
  filterOf,
  hookNotFound,
  recorded,
  refuseBadSecrets,
  refuseUnlessRoom,
  requireHook,
  wantedHook,
} from './create-hook.ts';
import { createHook, hookAnswer, hookParams, hooksQuery, hookView, rotateSecrets } from './hook-schemas.ts';

const ALL = '/v1/hooks';
const ONE = '/v1/hooks/{id}';
const tags = ['functions'];
const reads = [requires('sandboxes:read')];
const writes = [requires('sandboxes:write')];

const createOne = createRoute({
  method: 'post',
  path: ALL,
  tags,
  operationId: 'createHook',
  summary: 'Make a way in for signed events from outside, to one function',
  description:
    'Events are sent to its `path`, without a key. docs/hooks.md says how they are signed, and what is answered.',
  middleware: writes,
  request: {
    query: noQuery,
    headers: keyHeaders,
    body: { required: true, content: { 'application/json': { schema: createHook } } },
  },
  responses: {
    201: json('It takes events', hookAnswer),
    ...problems(BODY, KEYED, 'function_not_found', 'function_draining', 'hooks_full'),
  },
});

const listAll = createRoute({
  method: 'get',
  path: ALL,
  tags,
  operationId: 'listHooks',
  summary: 'List the hooks of a function, the oldest first, at most 100',
  middleware: reads,
  request: { query: hooksQuery },
  responses: { 200: json('All of them', listOf(hookAnswer)), ...problems('function_not_found') },
});

const one = { path: ONE, tags, request: { params: hookParams, query: noQuery } } as const;

const getOne = createRoute({
  ...one,
  method: 'get',
  operationId: 'getHook',
  summary: 'Read a hook, without its secrets',
  middleware: reads,
  responses: { 200: json('The hook', hookAnswer), ...problems('hook_not_found') },
});

const deleteOne = createRoute({
  ...one,
  method: 'delete',
  operationId: 'deleteHook',
  summary: 'Delete a hook: what is sent to it is answered with 404 from now on',
  middleware: writes,
  responses: { 204: { description: 'It is gone' }, ...problems('hook_not_found') },
});

const rotateOne = createRoute({
  ...one,
  method: 'put',
  path: `${ONE}/secrets`,
  operationId: 'setHookSecrets',
  summary: 'Give a hook other secrets: two while one is rotated, then the new one alone',
  middleware: writes,
  request: { ...one.request, body: { required: true, content: { 'application/json': { schema: rotateSecrets } } } },
  responses: { 200: json('They hold from now on', hookAnswer), ...problems(BODY, 'hook_not_found') },
});

const switchRoute = (act: 'disable' | 'enable', summary: string) =>
  createRoute({
    ...one,
    method: 'post',
    path: `${ONE}/${act}`,
    operationId: `${act}Hook`,
    summary,
    middleware: writes,
    responses: { 200: json('It is so', hookAnswer), ...problems('hook_not_found') },
  });

const disableOne = switchRoute('disable', 'Have a hook take no events: it is answered as if it were not there');
const enableOne = switchRoute('enable', 'Have a hook take events again');

export function hookRoutes(app: App): void {
  app.openapi(createOne, async (c) => {
    const body = c.req.valid('json');
    const deps = c.get('deps');
    const filter = filterOf(body, await c.req.text());
    const asked = { idFrom: hookIdFrom, key: c.req.valid('header')['idempotency-key'], body: { ...body, filter } };
    return serialised(
      await answerOnce(c, deps.store, asked, async (attempt) => {
        const wanted = await freedWhenRefused(deps.store, attempt, async () => {
          const hook = wantedHook(attempt.subjectId, actorOf(c), body, filter);
          if (attempt.isFresh) await refuseUnlessRoom(deps, body.function);
          return hook;
        });
        const hook = await recorded(deps, wanted);
        c.header('Location', `${ALL}/${hook.id}`);
        return { response: answerRaw(c, hookView(hook, deps), 201), isKept: true };
      }),
    );
  });
  app.openapi(listAll, async (c) => {
    const { function: name } = c.req.valid('query');
    const deps = c.get('deps');
    await requireFunction(deps, name);
    const unreadable: Unreadable[] = [];
    const hooks = await deps.store.hooks.list(name, unreadable);
    return answerRaw(
      c,
      answerList(
        hooks.map((hook) => hookView(hook, deps)),
        unreadable,
      ),
      200,
    );
  });
  app.openapi(getOne, async (c) => {
    const deps = c.get('deps');
    return answerRaw(c, hookView(await requireHook(deps, c.req.valid('param').id), deps), 200);
  });
  app.openapi(deleteOne, async (c) => {
    const { id } = c.req.valid('param');
    if (await c.get('deps').store.hooks.remove(id)) return c.body(null, 204);
    throw hookNotFound(id);
  });
  app.openapi(rotateOne, async (c) => {
    const deps = c.get('deps');
    const { secrets } = c.req.valid('json');
    const { id, scheme } = await requireHook(deps, c.req.valid('param').id);
    refuseBadSecrets(scheme, secrets);
    return answerRaw(c, await changed(deps, id, { secrets }), 200);
  });
  app.openapi(disableOne, async (c) => {
    const disabledAt = new Date().toISOString();
    return answerRaw(c, await changed(c.get('deps'), c.req.valid('param').id, { disabledAt }), 200);
  });
  app.openapi(enableOne, async (c) =>
    answerRaw(c, await changed(c.get('deps'), c.req.valid('param').id, { disabledAt: null }), 200),
  );
}

/** @throws MayflyError hook_not_found */
async function changed(deps: RequestDeps, id: string, changes: HookChanges) {
  await deps.store.hooks.change(id, changes);
  return hookView(await requireHook(deps, id), deps);
}
