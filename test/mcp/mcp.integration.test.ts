import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { call, type Revision, withClient } from './mcp-clients.ts';
import { McpDoor } from './mcp-door.ts';

/**
 * Guards: clients of both revisions can use Mayfly, and a repeated request takes effect once. A simulated host; about
 * 40 s.
 */
let door: McpDoor;
beforeAll(async () => {
  door = await McpDoor.open();
});
afterAll(() => door.close());

describe.each<Revision>(['2025-11-25', '2026-07-28'])('a client of %s', (revision) => {
  it('creates, runs, writes, compares and destroys', () =>
    withClient(door, revision, async (client) => {
      expect((await call(client, 'list', { kind: 'sources' })).text).toContain('golden');
      const created = await call(client, 'create_sandbox', { source: 'golden-debian12', ttlSeconds: 600 });
      expect(created.text).toContain('is running');
      const sandbox = String(created.data['sandboxId']);

      const ran = await call(client, 'run_command', { sandboxId: sandbox, command: 'echo out; echo err >&2; exit 3' });
      expect(ran.data).toMatchObject({ state: 'ended', exitCode: 3, outcome: 'exited' });
      expect(ran.text).toContain('exit code 3');
      expect(ran.text).toContain('out');
      expect(ran.text).toContain('err');

      const written = await call(client, 'write_file', {
        sandboxId: sandbox,
        path: '/tmp/mcp/a.txt',
        text: 'one\ntwo\n',
      });
      expect(written.data).toMatchObject({ size: 8 });
      const read = await call(client, 'read_file', { sandboxId: sandbox, path: '/tmp/mcp/a.txt' });
      expect(read.data).toMatchObject({ text: 'one\ntwo\n', nextOffset: null });
      expect((await call(client, 'list_files', { sandboxId: sandbox, path: '/tmp/mcp' })).text).toContain('a.txt');
      const edit = { sandboxId: sandbox, path: '/tmp/mcp/a.txt', oldString: 'two\n', newString: 'three\n' };
      expect((await call(client, 'edit_file', edit)).data).toMatchObject({ replaced: 1, size: 10 });
      const found = await call(client, 'search_files', { sandboxId: sandbox, path: '/tmp/mcp', text: 'three' });
      expect(found.data).toMatchObject({ items: [{ path: '/tmp/mcp/a.txt', line: 2, text: 'three' }] });
      await call(client, 'extend', { sandboxId: sandbox, ttlSeconds: 900 });
      expect((await call(client, 'pause', { sandboxId: sandbox })).data).toMatchObject({ state: 'paused' });
      expect((await call(client, 'resume', { sandboxId: sandbox })).data).toMatchObject({ state: 'running' });
      expect((await call(client, 'get_sandbox', { sandboxId: sandbox })).data).toMatchObject({ state: 'running' });
      await call(client, 'expose_port', { sandboxId: sandbox, port: 3_000 });
      expect((await call(client, 'close_port', { sandboxId: sandbox, port: 3_000 })).isError).toBe(false);
      const unsized = await call(client, 'read_file', {
        sandboxId: sandbox,
        path: '/proc/meminfo',
        offset: 3,
        maxBytes: 6,
      });
      expect(unsized.data).toMatchObject({ text: 'Total:', nextOffset: 9 });

      const ended = await call(client, 'destroy_sandbox', { sandboxId: sandbox });
      expect(ended.data).toMatchObject({ state: 'destroyed' });
      expect(ended.text).toContain('Nothing of it is left');
    }));

  it('is refused an unknown argument, which could be a misspelt one', () =>
    withClient(door, revision, async (client) => {
      const api = new MayflyClient({ baseUrl: door.url, apiKey: door.apiKey });
      const before = (await api.listSandboxes()).items.length;
      const said = await call(client, 'create_sandbox', { source: 'golden-debian12', ttl: 60 }).catch(String);
      expect(typeof said === 'string' || said.isError).toBe(true);
      expect(JSON.stringify(said)).toContain('ttl');
      expect((await api.listSandboxes()).items).toHaveLength(before);
    }));

  it('gets all tools in 16 KiB, with input and output schemas', () =>
    withClient(door, revision, async (client) => {
      const { tools } = await client.listTools();
      expect(JSON.stringify({ tools }).length).toBeLessThan(16 * 1_024);
      expect(tools.filter(({ outputSchema, annotations }) => !outputSchema || !annotations)).toEqual([]);
    }));
});
