import { CreateTaskResultV2Schema, GetTaskResultV2Schema } from '@modelcontextprotocol/ext-tasks/core/v2';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { McpDoor } from '../../mcp/mcp-door.ts';
import { RawRequests } from '../../mcp/raw-request.ts';

/**
 * Holds: work in the background is a task for clients with tasks, is polled and cancelled in any process, and belongs
 * to its project. A simulated host; about 20 s.
 */
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const UNKNOWN = -32_602;

let door: McpDoor;
let other: McpDoor;
let client: RawRequests;
let sandbox: string;
beforeAll(async () => {
  door = await McpDoor.open();
  other = await door.another();
  client = new RawRequests(door.apiKey, TASKS);
  const created = await client.call(door.url, 'create_sandbox', { source: 'golden-debian12' });
  sandbox = (created['structuredContent'] as { sandboxId: string }).sandboxId;
});
afterAll(async () => {
  await other.close();
  await door.close();
});

const get = (taskId: string, asked: RawRequests = client) => asked.ask(other.url, 'tasks/get', { taskId });

async function over(taskId: string): Promise<Record<string, unknown>> {
  return await expect
    .poll(async () => (await get(taskId)).result, { interval: 200 })
    .toMatchObject({ status: expect.stringMatching(/completed|cancelled|failed/) })
    .then(async () => (await get(taskId)).result ?? {});
}

it('a command in the background is a task in every process, and returns the result of the call', async () => {
  const command = 'echo begun; sleep 2; echo done; exit 3';
  const begun = await client.call(door.url, 'run_command', { sandboxId: sandbox, command, waitSeconds: 0 });
  const { taskId, status, ttlMs } = CreateTaskResultV2Schema.parse(begun);
  expect({ taskId, status }).toEqual({ taskId: expect.stringMatching(/^sbx-\w+\/cmd-\w+$/), status: 'working' });
  expect(ttlMs).toBe(86_400_000);
  expect((await get(taskId)).result).toMatchObject({ taskId, status: 'working' });

  const result = GetTaskResultV2Schema.parse(await over(taskId));
  expect(result).toMatchObject({
    status: 'completed',
    resultType: 'complete',
    result: { structuredContent: { exitCode: 3, stdout: 'begun\ndone\n' } },
  });
});

it('a quick call makes no task, and a client without tasks gets none, and cannot poll any', async () => {
  const quick = await client.call(door.url, 'run_command', { sandboxId: sandbox, command: 'true' });
  expect(quick).toMatchObject({ resultType: 'complete', structuredContent: { state: 'ended' } });
  const plain = new RawRequests(door.apiKey);
  const waited = await plain.call(door.url, 'run_command', { sandboxId: sandbox, command: 'sleep 1', waitSeconds: 0 });
  expect(waited).toMatchObject({
    resultType: 'complete',
    structuredContent: { state: expect.not.stringMatching('ended') },
  });
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    const { error } = await plain.ask(door.url, method, { taskId: sandbox, inputResponses: {} });
    expect(error).toMatchObject({ code: -32_021, data: { requiredCapabilities: TASKS } });
  }
});

it('a cancelled task ends with its processes, or is undone; a completed one is unchanged', async () => {
  const command = 'sleep 600 & sleep 600';
  const begun = await client.call(door.url, 'run_command', { sandboxId: sandbox, command, waitSeconds: 0 });
  const taskId = begun['taskId'] as string;
  expect((await client.ask(other.url, 'tasks/cancel', { taskId })).result).toMatchObject({ resultType: 'complete' });
  expect(await over(taskId)).toMatchObject({ status: 'cancelled' });
  const left = await client.call(door.url, 'run_command', {
    sandboxId: sandbox,
    command: 'pgrep -fx "sleep 600" || echo none',
  });
  expect(left['structuredContent']).toMatchObject({ stdout: 'none\n' });

  const create = await client.call(door.url, 'create_sandbox', { source: 'golden-debian12', waitSeconds: 0 });
  const created = CreateTaskResultV2Schema.parse(create).taskId;
  await client.ask(other.url, 'tasks/cancel', { taskId: created });
  await over(created);
  const api = new MayflyClient({ baseUrl: door.url, apiKey: door.apiKey });
  await expect.poll(async () => (await api.getSandbox(created)).state).toBe('destroyed');

  expect((await client.ask(door.url, 'tasks/cancel', { taskId: sandbox })).result).toBeDefined();
  expect((await get(sandbox)).result).toMatchObject({ status: 'completed' });
  expect((await api.getSandbox(sandbox)).state).toBe('running');
});

it('a task that failed is completed with its error', async () => {
  const source = 'golden-debian12';
  const begun = await client.call(door.url, 'run_command', { sandboxId: sandbox, argv: ['/no/such'], waitSeconds: 0 });
  const ended = begun['taskId'] === undefined ? begun : await over(begun['taskId'] as string);
  expect(JSON.stringify(ended)).toContain('not-started');
  const refused = await client.call(door.url, 'create_sandbox', { source: `${source}-none`, waitSeconds: 0 });
  expect(refused).toMatchObject({ isError: true });
  expect(refused['taskId']).toBeUndefined();
});

it('a task belongs to its project, and an invalid id is unknown', async () => {
  const { projects, apiKeys } = door.mayfly.store;
  await projects.create('others', { sources: [] });
  const { secret } = await apiKeys.create({ name: 'other', project: 'others', scopes: ['sandboxes:read'] });
  const foreign = new RawRequests(secret, TASKS);
  const begun = await client.call(door.url, 'run_command', { sandboxId: sandbox, command: 'sleep 5', waitSeconds: 0 });
  const taskId = begun['taskId'] as string;
  for (const id of [taskId, sandbox, 'snp-0000000000000000', 'sbx-0000000000000000', '../x', 'a/b/c', '']) {
    const asked = id === taskId || id === sandbox ? foreign : client;
    expect((await get(id, asked)).error, id).toMatchObject({ code: UNKNOWN });
    expect((await asked.ask(other.url, 'tasks/cancel', { taskId: id })).error).toMatchObject({ code: UNKNOWN });
  }
  expect((await get(taskId)).result).toMatchObject({ status: 'working' });
  await client.ask(other.url, 'tasks/cancel', { taskId });
});
