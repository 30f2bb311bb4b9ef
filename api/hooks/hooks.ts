import { hookIdFrom } from '../../model/ids.ts';
import { assertHookLimit, assertSecrets, filterOf, newHook, recordHook } from '../../services/hooks/create-hook.ts';
import { orThrow, requireFunction, requireHook } from '../../services/service-deps.ts';
import type { HookChanges } from '../../store/functions/hooks.ts';
import type { Unreadable } from '../../store/sealed/sealed-fields.ts';
import { actorOf, type RequestDeps } from '../http/context.ts';
import { type Route, routeOf } from '../http/route.ts';
import { answerList, json, keyHeaders, listOf } from '../http/schemas.ts';
import { answerOnce, keep } from '../idempotency/answer-once.ts';
import { createHook, hookAnswer, hookParams, hooksQuery, hookView, rotateSecrets, schemeOf } from './hook-schemas.ts';

const route = routeOf('functions');

const ALL = '/v1/hooks';
const ONE = '/v1/hooks/{id}';

const SWITCH = {
  scope: 'sandboxes:write',
  in: { params: hookParams },
  out: { 200: json('It is so', hookAnswer) },
  problems: ['hook_not_found'],
} as const;

export const hookRoutes: Route[] = [
  route('createHook', 'post', ALL, {
    scope: 'sandboxes:write',
    summary: 'Make a way in for signed events from outside, to one function',
    description:
      'Events are sent to its `path`, without a key. docs/events.md says how they are signed, and what is answered.',
    in: { headers: keyHeaders, body: createHook },
    out: { 201: json('It takes events', hookAnswer) },
    problems: ['function_not_found', 'function_draining', 'hooks_full'],
    location: ({ id }) => `${ALL}/${id}`,
    handle: async ({ c, deps, respond, body }) => {
      const filter = filterOf(body.filter, await c.req.text());
      return answerOnce({ c, respond }, { idFrom: hookIdFrom }, async (call) => {
        const wanted = newHook(call.subjectId, actorOf(c), { ...body, scheme: schemeOf(body), filter });
        if (call.isFresh) await assertHookLimit(deps, body.function);
        const hook = await recordHook(deps, wanted);
        return keep(hookView(hook, deps));
      });
    },
  }),
  route('listHooks', 'get', ALL, {
    scope: 'sandboxes:read',
    summary: 'List the hooks of a function, the oldest first, at most 100',
    in: { query: hooksQuery },
    out: { 200: json('All of them', listOf(hookAnswer)) },
    problems: ['function_not_found'],
    handle: async ({ deps, store, query: { function: name } }) => {
      await requireFunction(deps, name);
      const unreadable: Unreadable[] = [];
      const hooks = await store.hooks.list(name, unreadable);
      return answerList(
        hooks.map((hook) => hookView(hook, deps)),
        unreadable,
      );
    },
  }),
  route('getHook', 'get', ONE, {
    scope: 'sandboxes:read',
    summary: 'Read a hook, without its secrets',
    in: { params: hookParams },
    out: { 200: json('The hook', hookAnswer) },
    problems: ['hook_not_found'],
    handle: async ({ deps, params }) => hookView(await requireHook(deps, params.id), deps),
  }),
  route('deleteHook', 'delete', ONE, {
    scope: 'sandboxes:write',
    summary: 'Delete a hook: what is sent to it is answered with 404 from now on',
    in: { params: hookParams },
    out: { 204: { description: 'It is gone' } },
    problems: ['hook_not_found'],
    handle: async ({ store, params: { id } }) => {
      orThrow(await store.hooks.remove(id), 'hook_not_found', `There is no hook ${id}.`);
    },
  }),
  route('putHookSecrets', 'put', `${ONE}/secrets`, {
    scope: 'sandboxes:write',
    summary: 'Give a hook other secrets: two while one is rotated, then the new one alone',
    in: { params: hookParams, body: rotateSecrets },
    out: { 200: json('They hold from now on', hookAnswer) },
    problems: ['hook_not_found'],
    handle: async ({ deps, params, body: { secrets } }) => {
      const { id, scheme } = await requireHook(deps, params.id);
      assertSecrets(scheme, secrets);
      return changeHook(deps, id, { secrets });
    },
  }),
  route('disableHook', 'post', `${ONE}/disable`, {
    ...SWITCH,
    summary: 'Have a hook take no events: it is answered as if it were not there',
    handle: ({ deps, params: { id } }) => changeHook(deps, id, { disabledAt: new Date().toISOString() }),
  }),
  route('enableHook', 'post', `${ONE}/enable`, {
    ...SWITCH,
    summary: 'Have a hook take events again',
    handle: ({ deps, params: { id } }) => changeHook(deps, id, { disabledAt: null }),
  }),
];

/** @throws MayflyError hook_not_found */
async function changeHook(deps: RequestDeps, id: string, changes: HookChanges) {
  await deps.store.hooks.change(id, changes);
  return hookView(await requireHook(deps, id), deps);
}
