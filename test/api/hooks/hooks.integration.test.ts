import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { hookIdFrom } from '../../../model/ids.ts';
import { LIMITS } from '../../../model/limits.ts';
import { newSecret } from '../../../services/webhooks/signing/standard-key.ts';
import { jsonOf, problemOf } from '../support.ts';
import { type HookView, SECRET, useHooks } from './use-hooks.ts';

// Guards: hooks are made, listed, read, rotated, disabled and deleted; no answer and no document has a secret. Seconds.
const { door, deploy, make } = useHooks();

test('a hook is made once for an Idempotency-Key, read and listed, without its secrets', async () => {
  const name = await deploy();
  const filter = { types: ['com.github.push'], conditions: [{ pointer: '/ref', in: ['refs/heads/main'] }] };
  const wish = { function: name, scheme: 'github', secrets: [SECRET], filter };
  const create = () => door().call('POST', '/v1/hooks', wish, { 'Idempotency-Key': name });
  const [response, again] = [await create(), await create()];
  expect([response.status, again.status]).toEqual([201, 201]);
  const text = await response.text();
  expect(await again.text()).toBe(text);
  expect(text).not.toContain(SECRET);
  const hook = JSON.parse(text) as HookView;
  expect(hook).toMatchObject({
    path: `/h/${hook.id}`,
    scheme: 'github',
    hmac: null,
    secretCount: 1,
    filter,
    disabledAt: null,
  });
  expect(response.headers.get('Location')).toBe(`/v1/hooks/${hook.id}`);
  expect(await jsonOf(door().call('GET', `/v1/hooks/${hook.id}`))).toEqual(hook);
  expect(await jsonOf(door().call('GET', `/v1/hooks?function=${name}`))).toEqual({ items: [hook] });
  expect((await door().store.hooks.get(hook.id))?.secrets).toEqual([SECRET]);
});

test.each([
  [
    'a secret that is none of its scheme',
    { scheme: 'standard-webhooks', secrets: [newSecret(), 'plain-text'] },
    'secrets.1',
  ],
  ['three secrets', { secrets: ['a', 'b', 'c'] }, 'secrets'],
  ['the same secret twice', { secrets: ['a', 'a'] }, 'secrets'],
  ['no secret', { secrets: [] }, 'secrets'],
  ['hmac without its settings', { scheme: 'hmac' }, 'hmac'],
  ['settings of hmac beside another scheme', { hmac: { header: 'X-Signature' } }, 'hmac'],
  ['a header with a colon', { scheme: 'hmac', hmac: { header: 'X: Y' } }, 'hmac.header'],
  ['a pointer that is none', { filter: { conditions: [{ pointer: 'ref', in: [1] }] } }, 'filter.conditions.0.pointer'],
  ['a field that is not known', { url: 'https://example.com' }, 'url'],
])('%s is refused by the name of the field, and quoted nowhere', async (_name, wish, field) => {
  const function_ = await deploy();
  const response = await door().call('POST', '/v1/hooks', {
    function: function_,
    scheme: 'github',
    secrets: [SECRET],
    ...wish,
  });
  expect(response.status).toBe(422);
  const problem = await problemOf(response);
  expect(problem.errors).toContainEqual({ field, problem: expect.any(String) });
  expect(JSON.stringify(problem)).not.toContain('plain-text');
});

test('creating a hook for a missing function, or the 101st of one, is refused', async () => {
  const wish = { scheme: 'github', secrets: [SECRET] };
  expect(await problemOf(door().call('POST', '/v1/hooks', { ...wish, function: 'nowhere' }))).toMatchObject({
    code: 'function_not_found',
  });
  const { id } = await make();
  const hook = await door().store.hooks.get(id);
  if (!hook) throw new Error('it was not kept');
  for (let n = 1; n < LIMITS.functions.hooks.count; n++)
    await door().store.hooks.create({ ...hook, id: hookIdFrom(randomBytes(10)) });
  const response = door().call('POST', '/v1/hooks', { ...wish, function: hook.function });
  expect(await problemOf(response)).toMatchObject({ status: 409, code: 'hooks_full' });
  expect((await door().store.hooks.list({ project: 'default', name: hook.function })).length).toBe(100);
});

test('a hook is disabled, enabled, and deleted; it is deleted with its function', async () => {
  const hook = await make();
  const { disabledAt } = await jsonOf<HookView>(door().call('POST', `/v1/hooks/${hook.id}/disable`));
  expect(Date.parse(disabledAt ?? '')).toBeGreaterThan(0);
  expect(await jsonOf(door().call('POST', `/v1/hooks/${hook.id}/enable`))).toMatchObject({ disabledAt: null });
  expect((await door().call('DELETE', `/v1/hooks/${hook.id}`)).status).toBe(204);
  expect((await door().call('GET', `/v1/hooks/${hook.id}`)).status).toBe(404);
  const other = await make();
  const kept = await door().store.hooks.get(other.id);
  expect((await door().call('DELETE', `/v1/functions/${kept?.function}`)).status).toBe(204);
  expect(await door().store.hooks.get(other.id)).toBeNull();
});
