import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LIMITS } from '../../../model/limits.ts';
import { McpDoor } from '../../mcp/mcp-door.ts';
import { answerOf, dataOf, eventsOf, RawSession } from '../../mcp/raw-session.ts';

/**
 * Holds: a session is its key's, outlives the process, and loses neither an answer nor a machine when a stream is cut or a
 * request is sent twice. A simulated host; about 30 s.
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

it('goes on at another process of the API', async () => {
  await door.restart();
  const answer = await answerOf(await session.call(1, 'list', { kind: 'sources' }));
  expect(JSON.stringify(dataOf(answer))).toContain('golden-debian12');
});

it('is opened anew by a client that comes with a session of long ago', async () => {
  const other = new RawSession(door.url, door.apiKey);
  const response = await other.initialize({ 'mcp-session-id': 'long-gone' });
  expect(response.status).toBe(200);
  expect(other.id).not.toBe('long-gone');
  expect((await other.call(1, 'list', { kind: 'sources' })).status).toBe(200);
});

it('is not there for another key of the same project, nor when it is unknown', async () => {
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

it('is gone once it was ended', async () => {
  const other = new RawSession(door.url, door.apiKey);
  await other.initialize();
  const headers = { authorization: `Bearer ${door.apiKey}`, 'mcp-session-id': other.id };
  expect((await fetch(new URL('/mcp', door.url), { method: 'DELETE', headers })).status).toBe(200);
  expect((await other.call(1, 'list', { kind: 'sources' })).status).toBe(404);
});

it('ends when its project opens more than it may have, that of the longest ago first', async () => {
  const oldest = new RawSession(door.url, door.apiKey);
  await oldest.initialize();
  const stream = (await oldest.get()).body?.getReader();
  for (let n = 0; n <= LIMITS.mcp.sessions; n++) {
    session = new RawSession(door.url, door.apiKey);
    await session.initialize();
  }
  expect((await oldest.call(1, 'list', { kind: 'sources' })).status).toBe(404);
  while (!(await stream?.read())?.done); // the process has let go of it too
  expect((await session.call(1, 'list', { kind: 'sources' })).status).toBe(200);
});

it('gives the one answer of a create whose stream was cut', async () => {
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

it('makes one machine of a request that comes twice, also at once, also at another process', async () => {
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

it('says of a call that died with its process that it did', async () => {
  const streamId = randomUUID();
  const at = new Date(Date.now() - 60_000).toISOString();
  await door.mayfly.store.mcpEvents.append([{ sessionId: session.id, streamId, place: 0, message: 'died', at }]);
  const answer = await answerOf(await session.get({ 'last-event-id': `${streamId}.0` }));
  expect(answer).toMatchObject({ id: 'died', error: { message: expect.stringContaining('Send it again') } });
  expect((await session.get({ 'last-event-id': `${randomUUID()}.0` })).status).toBe(404);
});

it('cancels what is under way at another process', async () => {
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
