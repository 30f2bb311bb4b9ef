import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { call } from '../../mcp/mcp-clients.ts';
import { McpDoor } from '../../mcp/mcp-door.ts';

/** Holds: a client can start `mayfly mcp` as a server that prints only JSON-RPC and ends with it. About 25 s. */
const MAYFLY = fileURLToPath(new URL('../../../bin/mayfly', import.meta.url));
let door: McpDoor;
let env: Record<string, string>;
beforeAll(async () => {
  door = await McpDoor.open();
  env = { PATH: process.env['PATH'] ?? '', MAYFLY_URL: door.url, MAYFLY_API_KEY: door.apiKey };
});
afterAll(() => door.close());

it.each(['2025-11-25', '2026-07-28'] as const)('serves a client of %s', async (revision) => {
  const mode = revision === '2025-11-25' ? 'legacy' : { pin: revision };
  const client = new Client({ name: 'test', version: '0' }, { versionNegotiation: { mode } });
  await client.connect(new StdioClientTransport({ command: MAYFLY, args: ['mcp', '--prefix', 'vm_'], env }));
  const created = await call(client, 'vm_create_sandbox', { source: 'golden-debian12', ttlSeconds: 600 });
  expect(created.text).toContain('vm_run_command');
  const sandbox = created.data['sandboxId'];
  expect((await call(client, 'vm_run_command', { sandboxId: sandbox, command: 'echo hi' })).data).toMatchObject({
    stdout: 'hi\n',
  });
  expect((await call(client, 'vm_destroy_sandbox', { sandboxId: sandbox })).data).toMatchObject({ state: 'destroyed' });
  await client.close();
});

function start() {
  const child = spawn(MAYFLY, ['mcp'], { env, stdio: 'pipe' });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  return { exited: once(child, 'exit'), stdin: child.stdin, reader, lines };
}

/** Initialization of a session, as the first message. */
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '0' } },
};

it.each([
  ['a lone initialize', [1], '\n'],
  ['requests, of which the last has no line end', [1, 2, 3], ''],
])('answers %s that was all of its input', async (_what, ids, end) => {
  const { exited, stdin, lines } = start();
  const messages = [
    INITIALIZE,
    { jsonrpc: '2.0', id: 2, method: 'tools/list' },
    { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'list', arguments: { kind: 'sources' } } },
  ].slice(0, ids.length);
  stdin.end(messages.map((message) => JSON.stringify(message)).join('\n') + end);
  expect((await exited)[0]).toBe(0);
  const answers = lines.map((line) => JSON.parse(line) as { id: number; result?: unknown });
  expect(
    answers
      .filter(({ result }) => result !== undefined)
      .map(({ id }) => id)
      .toSorted((a, b) => a - b),
  ).toEqual(ids);
});

it('ends with its input, and undoes open calls', async () => {
  const { exited, stdin, reader, lines } = start();
  stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
  await once(reader, 'line');
  stdin.write('this is no JSON\n');
  const create = { name: 'create_sandbox', arguments: { source: 'golden-debian12' } };
  stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
  stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: create })}\n`);
  const alive = async () => (await door.mayfly.store.sandboxes.list({ alive: true, limit: 10 })).items;
  await expect.poll(async () => (await alive()).length, { interval: 10 }).toBeGreaterThan(0);
  stdin.end();
  expect((await exited)[0]).toBe(0);
  expect(lines.map((line) => (JSON.parse(line) as { jsonrpc: string }).jsonrpc)).toEqual(lines.map(() => '2.0'));
  await expect.poll(alive).toEqual([]);
});

it('reports on standard error why it cannot start', async () => {
  const child = spawn(MAYFLY, ['mcp'], { env: { PATH: env['PATH'], MAYFLY_STATE_DIR: '/nonexistent' }, stdio: 'pipe' });
  let [out, said] = ['', ''];
  child.stdout.on('data', (piece: Buffer) => {
    out += piece.toString();
  });
  child.stderr.on('data', (piece: Buffer) => {
    said += piece.toString();
  });
  await once(child, 'close');
  expect(out).toBe('');
  expect(said).toContain('No installation runs here');
});
