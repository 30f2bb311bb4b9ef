import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LIMITS } from '../../../model/limits.ts';
import { McpDoor } from '../../mcp/mcp-door.ts';
import { answerOf, dataOf, eventsOf, RawSession } from '../../mcp/raw-session.ts';

/**
 * Holds: a session belongs to its key, outlives the process, and loses neither an answer nor a machine by a cut stream
 * or a duplicate request. A simulated host; about 30 s.
 */
let door: McpDoor;
let session: RawSession;
beforeAll(async () => {
  door = await McpDoor.open();
  session = new RawSession(door.url, door.apiKey);
  await session.initialize();
});
afterAll(() => door.close());

const CREATE = { source: 'golden-debian12', ttlSeconds: 600 };

async function living(): Promise<string[]> {
  const { items } = await door.mayfly.store.sandboxes.list({ alive: true, limit: 100 });
  return items.map(({ id }) => id);
}

it('continues in another process of the API', async () => {
  await door.restart();
  const answer = await answerOf(await session.call(1, 'list', { kind: 'sources' }));
  expect(JSON.stringify(dataOf(answer))).toContain('golden-debian12');
});

it('is opened again by a client with an old session id', async () => {
  const other = new RawSession(door.url, door.apiKey);
  const response = await other.initialize({ 'mcp-session-id': 'long-gone' });
  expect(response.status).toBe(200);
  expect(other.id).not.toBe('long-gone');
  expect((await other.call(1, 'list', { kind: 'sources' })).status).toBe(200);
});

it('is not found for another key of the same project, nor when it is unknown', async () => {
  const { secret } = await door.mayfly.store.apiKeys.create({ project: 'default', name: 'other', scopes: ['admin'] });
  const thief = new RawSession(door.url, secret);
  thief.id = session.id;
  for (const response of [await thief.call(1, 'list', { kind: 'sources' }), await thief.get()]) {
    expect(response.status).toBe(404);
  }
  thief.id = 'AAAA';
  expect((await thief.call(1, 'list', { kind: 'sources' })).status).toBe(404);
});

it('has its streams cut when its key is revoked', async () => {
  const { secret, key } = await door.mayfly.store.apiKeys.create({
    project: 'default',
    name: 'revoked',
    scopes: ['admin'],
  });
  const other = new RawSession(door.url, secret);
  await other.initialize();
  const stream = await other.get();
  expect(stream.status).toBe(200);
  await door.mayfly.store.apiKeys.revoke(key.id);
  await expect(stream.text()).rejects.toThrow();
});

it('is not found after its end', async () => {
  const other = new RawSession(door.url, door.apiKey);
  await other.initialize();
  const headers = { authorization: `Bearer ${door.apiKey}`, 'mcp-session-id': other.id };
  expect((await fetch(new URL('/mcp', door.url), { method: 'DELETE', headers })).status).toBe(200);
  expect((await other.call(1, 'list', { kind: 'sources' })).status).toBe(404);
});

it('ends when its project exceeds its limit, the least recently used first', async () => {
  const oldest = new RawSession(door.url, door.apiKey);
  await oldest.initialize();
  const stream = (await oldest.get()).body?.getReader();
  for (let n = 0; n <= LIMITS.mcp.sessions; n++) {
    session = new RawSession(door.url, door.apiKey);
    await session.initialize();
  }
  expect((await oldest.call(1, 'list', { kind: 'sources' })).status).toBe(404);
  while (!(await stream?.read())?.done); // the process has released it, too
  expect((await session.call(1, 'list', { kind: 'sources' })).status).toBe(200);
});

it('returns the one answer of a create whose stream was cut', async () => {
  const before = await living();
  const cut = new AbortController();
  const response = await session.call('cut', 'create_sandbox', CREATE, cut.signal);
  let last = '';
  for await (const { id } of eventsOf(response)) {
    last = id;
    break;
  }
  cut.abort();
  expect(last).not.toBe('');
  const rest = await session.get({ 'last-event-id': last });
  const answer = await answerOf(rest);
  expect(answer.id).toBe('cut');
  expect(dataOf(answer)).toMatchObject({ state: 'running' });
  expect(await living()).toHaveLength(before.length + 1);
});

it('creates one machine for a duplicate request, also concurrent, also in another process', async () => {
  const before = await living();
  const both = await Promise.all([
    session.call('twice', 'create_sandbox', CREATE),
    session.call('twice', 'create_sandbox', CREATE),
  ]);
  const ids = await Promise.all(both.map(async (response) => dataOf(await answerOf(response))['sandboxId']));
  await door.restart();
  ids.push(dataOf(await answerOf(await session.call('twice', 'create_sandbox', CREATE)))['sandboxId']);
  expect(new Set(ids).size).toBe(1);
  expect(await living()).toHaveLength(before.length + 1);
});

it('reports a call that died with its process', async () => {
  const streamId = randomUUID();
  const at = new Date(Date.now() - 60_000).toISOString();
  await door.mayfly.store.mcpEvents.append([{ sessionId: session.id, streamId, place: 0, message: 'died', at }]);
  const answer = await answerOf(await session.get({ 'last-event-id': `${streamId}.0` }));
  expect(answer).toMatchObject({ id: 'died', error: { message: expect.stringContaining('Send it again') } });
  expect((await session.get({ 'last-event-id': `${randomUUID()}.0` })).status).toBe(404);
});

it('cancels a call in another process', async () => {
  const [sandbox = ''] = await living();
  const running = session.call('far', 'run_command', { sandboxId: sandbox, command: 'sleep 300', waitSeconds: 50 });
  const response = await running;
  const other = await door.another();
  const there = new RawSession(other.url, door.apiKey);
  there.id = session.id;
  await there.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'far' } });
  await expect
    .poll(async () => (await door.mayfly.store.commands.list({ sandboxId: sandbox, limit: 1 })).items[0]?.outcome)
    .toBe('cancelled');
  await response.body?.cancel();
  await other.close();
});
