import { expect, it } from 'vitest';
import { LIMITS } from '../../../model/limits.ts';
import { jsonOf, problemOf, useDoor } from '../support.ts';

const door = useDoor();

interface Told {
  version: number;
  isMasked: boolean;
  warnings: string[];
  versions: { version: number }[];
}
const put = (name: string, value: string) => door.call('PUT', `/v1/secrets/${name}`, { value });
const get = (name: string) => jsonOf<Told>(door.call('GET', `/v1/secrets/${name}`));
const deploy = (name: string, more: object) =>
  door.call('PUT', `/v1/functions/${name}`, { source: 'golden', command: 'cat', ...more });

it('a secret has a version per value; only the newest is kept, encrypted, and never returned', async () => {
  const values = ['first-value-1', 'second-value-2', 'third-value-3'];
  const answers: Response[] = [];
  for (const value of values) answers.push(await put('versions', value));
  expect(answers.map(({ status }) => status)).toEqual([201, 200, 200]);
  expect(await get('versions')).toMatchObject({
    version: 3,
    versions: [{ version: 3 }, { version: 2 }, { version: 1 }],
  });
  const listed = await jsonOf<{ items: object[] }>(door.call('GET', '/v1/secrets'));
  expect(listed.items).toContainEqual(expect.objectContaining({ name: 'versions', version: 3, isMasked: true }));
  const ref = { project: 'default', name: 'versions' };
  const record = await door.store.secrets.get(ref);
  expect(await door.store.secretValues.get(ref, record?.valueId ?? '')).toBe('third-value-3');
  const said = JSON.stringify([
    listed,
    await get('versions'),
    ...(await Promise.all(answers.map((each) => each.text()))),
  ]);
  for (const value of values) expect(said).not.toContain(value);
});

it('a secret that is put concurrently gets a version for each value, and keeps the last', async () => {
  const values = Array.from({ length: 8 }, (_, n) => `value-of-${n}-at-once`);
  await Promise.all(values.map((value) => put('at-once', value)));
  const { version, versions } = await get('at-once');
  expect([version, versions.map((each) => each.version)]).toEqual([8, [8, 7, 6, 5, 4, 3, 2, 1]]);
  const ref = { project: 'default', name: 'at-once' };
  const record = await door.store.secrets.get(ref);
  expect(values).toContain(await door.store.secretValues.get(ref, record?.valueId ?? ''));
});

it('a deleted secret is not found, and continues its version numbers when put again', async () => {
  await put('gone', 'a-value-1');
  expect((await door.call('DELETE', '/v1/secrets/gone')).status).toBe(204);
  expect((await door.call('GET', '/v1/secrets/gone')).status).toBe(404);
  expect((await door.call('DELETE', '/v1/secrets/gone')).status).toBe(404);
  expect(JSON.stringify(await jsonOf(door.call('GET', '/v1/secrets')))).not.toContain('"gone"');
  expect((await put('gone', 'another-2')).status).toBe(201);
  expect(await get('gone')).toMatchObject({ version: 2, versions: [{ version: 2 }] });
});

it.each([
  ['x', 'characters'],
  ['password', 'a common word'],
])('%j gets a warning that it is not masked, on put and on deploy (case 53)', async (value, why) => {
  const name = `weak-${value.length}`;
  const answer = await jsonOf<Told>(put(name, value));
  expect(answer).toMatchObject({ isMasked: false, warnings: [expect.stringContaining(why)] });
  const deployed = await jsonOf<Told>(deploy('weak', { secrets: [{ name, env: 'TOKEN' }] }));
  expect(deployed.warnings).toEqual([expect.stringMatching(new RegExp(`${name}.*${why}`))]);
});

it.each([
  ['no value', { value: '' }],
  ['more than it may have', { value: 'é'.repeat(LIMITS.functions.secrets.bytes / 2 + 1) }],
  ['a NUL', { value: 'a\0b' }],
  ['half a character', { value: 'abc\ud800' }],
  ['another field', { value: 'abcd-1', old: 'x' }],
])('a secret with %s is refused, and is not quoted', async (_what, body) => {
  const response = await door.call('PUT', '/v1/secrets/refused', body);
  const text = await response.clone().text();
  expect([response.status, (await problemOf(response)).code]).toEqual([422, 'invalid_request']);
  if (body.value.length > 1) expect(text).not.toContain(body.value);
});

it('a secret can be changed only by an administrator; others use it by name, and see its versions', async () => {
  await put('of-admins', 'a-value-1');
  const writer = await door.key('sandboxes:read', 'sandboxes:write');
  const call = (method: string, body?: object) => door.call(method, '/v1/secrets/of-admins', body, {}, writer);
  const statuses = [await call('PUT', { value: 'mine-2' }), await call('DELETE'), await call('GET')];
  expect(statuses.map(({ status }) => status)).toEqual([403, 403, 200]);
});

it.each<[what: string, secrets: object[], field: string, status?: number]>([
  ['what is not there', [{ name: 'never-was', env: 'A' }], 'secrets.0.name', 404],
  ['no place', [{ name: 'known' }], 'secrets.0.env'],
  ['two places', [{ name: 'known', env: 'A', file: 'a' }], 'secrets.0.env'],
  ['a path', [{ name: 'known', file: '../a' }], 'secrets.0.file'],
  ['a hidden file', [{ name: 'known', file: '.a' }], 'secrets.0.file'],
  ['a variable of ours', [{ name: 'known', env: 'MAYFLY_RUN_ID' }], 'secrets.0.env'],
  ['a variable twice', Array(2).fill({ name: 'known', env: 'A' }), 'secrets'],
  ['a variable of `env`', [{ name: 'known', env: 'TAKEN' }], 'secrets'],
  ['a file twice', Array(2).fill({ name: 'known', file: 'a' }), 'secrets'],
])('a deployment with %s is refused by its name', async (_what, secrets, field, status = 422) => {
  await put('known', 'a-value-1');
  const problem = await problemOf(deploy('refused', { secrets, env: { TAKEN: 'x' } }));
  expect([problem.status, problem.errors?.[0]?.field]).toEqual([status, field]);
});

it('a deployment shows the names of its secrets', async () => {
  await put('shown', 'a-value-1');
  const answer = await jsonOf(deploy('shows', { secrets: [{ name: 'shown', file: 'tls.key' }] }));
  expect(answer).toMatchObject({ warnings: [], spec: { secrets: [{ name: 'shown', env: null, file: 'tls.key' }] } });
});
