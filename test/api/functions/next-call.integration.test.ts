import { pino } from 'pino';
import { beforeAll, expect, it } from 'vitest';
import { createApp } from '../../../api/app.ts';
import type { App } from '../../../api/http/context.ts';
import type { Scope } from '../../../model/scopes.ts';
import { jsonOf, noGuests, useDoor } from '../support.ts';

const door = useDoor();
/** Second process of the API on the same store. */
let other: App;

beforeAll(async () => {
  const { store, sagas } = door;
  other = createApp({ store, sagas, guests: noGuests, version: '0', logger: pino({ level: 'silent' }) });
});

async function deploy(name: string, command: string): Promise<number> {
  const response = await door.call('PUT', `/v1/functions/${name}`, { source: 'golden', command });
  expect(response.status, await response.clone().text()).toBeLessThan(300);
  return (await jsonOf<{ version: number }>(response)).version;
}

/** Sends an event to one of the two processes. */
function send(app: App, name: string, key: string): Promise<Response> | Response {
  return app.request(`/v1/functions/${name}/runs`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: '{}',
  });
}

const versionOf = async (response: Response) => (await jsonOf<{ version: number }>(response)).version;
const SCOPES: Scope[] = ['sandboxes:read', 'sandboxes:write', 'admin'];

it('the next call runs the deployed version', async () => {
  const key = await door.key(...SCOPES);
  for (let n = 1; n <= 3; n++) {
    const version = await deploy('changing', `echo ${n}`);
    for (const app of [door.app, other]) expect(await versionOf(await send(app, 'changing', key))).toBe(version);
  }
});

it('the next call is rejected for a deleted function', async () => {
  const key = await door.key(...SCOPES);
  await deploy('going', 'true');
  const at = new Date().toISOString();
  for (const app of [door.app, other]) {
    const { id } = await jsonOf<{ id: string }>(send(app, 'going', key));
    await door.store.runs.end(id, ['queued'], { outcome: 'cancelled', endedAt: at, updatedAt: at }, 7);
  }
  expect((await door.call('DELETE', '/v1/functions/going')).status).toBe(204);
  for (const app of [door.app, other]) expect((await send(app, 'going', key)).status).toBe(404);
});

it('the next request obeys a changed project', async () => {
  await door.call('POST', '/v1/projects', { id: 'acme', sources: ['golden'] });
  const key = await door.key.in('acme', ...SCOPES);
  const sources = async () => {
    const response = await other.request('/v1/sources', { headers: { Authorization: `Bearer ${key}` } });
    return response.status === 200 ? (await jsonOf<{ items: object[] }>(response)).items.length : response.status;
  };
  expect(await sources()).toBe(1);
  await door.call('PATCH', '/v1/projects/acme', { sources: [] });
  expect(await sources()).toBe(0);
  expect((await door.call('DELETE', '/v1/projects/acme')).status).toBe(200);
  expect(await sources()).toBe(401);
});
