import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import type { AuditEvent } from '../../../model/sandbox/audit.ts';
import { call, type Revision, withClient } from '../../mcp/mcp-clients.ts';
import { McpDoor } from '../../mcp/mcp-door.ts';

/**
 * Holds: agents of both revisions can use Mayfly, and a repeated request is done once. A simulated host; about 40 s.
 */
let door: McpDoor;
beforeAll(async () => {
  door = await McpDoor.open();
});
afterAll(() => door.close());

async function kinds(sandboxId: string): Promise<string[]> {
  const api = new MayflyClient({ baseUrl: door.url, apiKey: door.apiKey });
  return (await api.sandboxAudit(sandboxId, { limit: 200 })).items.map(
    ({ body }) => (JSON.parse(body) as AuditEvent).kind,
  );
}

describe.each<Revision>(['2025-11-25', '2026-07-28'])('a client of %s', (revision) => {
  it('gets the approval that it waits for, and continues after its decision', () =>
    withClient(door, revision, async (client) => {
      const rules = [{ name: 'no-egress', when: { egress: 'internet' }, effect: 'ask' }] as const;
      const api = new MayflyClient({ baseUrl: door.url, apiKey: door.apiKey });
      const person = await api.createKey({ name: 'person', scopes: ['approvals:decide'] });
      await api.approvals.setPolicy(rules);
      try {
        const wish = { source: 'golden-debian12', egress: 'internet', idempotencyKey: `asked-${revision}` };
        const asked = await call(client, 'create_sandbox', wish);
        expect(asked.isError).toBe(true);
        const [approvalId = ''] = /apr-[0-9a-z]{16}/.exec(asked.text) ?? [];
        expect(asked.text).toContain(`idempotencyKey "asked-${revision}"`);
        const { digest } = await api.approvals.get(approvalId);
        await expect(api.approvals.approve(approvalId, { digest })).rejects.toMatchObject({ code: 'forbidden' });
        const waits = await call(client, 'get_approval', { approvalId, waitSeconds: 0 });
        expect(waits.data).toMatchObject({ state: 'awaiting-approval' });
        const byPerson = new MayflyClient({ baseUrl: door.url, apiKey: person.secret });
        await byPerson.approvals.approve(approvalId, { digest });
        expect((await call(client, 'get_approval', { approvalId })).data).toMatchObject({ state: 'approved' });
        const created = await call(client, 'create_sandbox', wish);
        expect(created.text).toContain('is running');
        await call(client, 'destroy_sandbox', { sandboxId: created.data['sandboxId'] });
      } finally {
        await api.approvals.setPolicy([]);
      }
    }));

  it('gets progress for the steps of a create, and an answer when its wait ends', () =>
    withClient(door, revision, async (client) => {
      const messages: string[] = [];
      const onprogress = ({ message }: { message?: string }) => messages.push(message ?? '');
      const created = await call(client, 'create_sandbox', { source: 'golden-debian12' }, { onprogress });
      expect(messages).toContain('bootDomain is done');
      const sandbox = created.data['sandboxId'];

      const waited = await call(client, 'run_command', { sandboxId: sandbox, command: 'sleep 60', waitSeconds: 1 });
      expect(waited.data).toMatchObject({ state: 'running', exitCode: null });
      expect(waited.text).toContain('read_output');
      const { commandId } = waited.data;
      expect((await call(client, 'cancel_command', { sandboxId: sandbox, commandId })).isError).toBe(false);
      const end = await call(client, 'read_output', { sandboxId: sandbox, commandId, waitSeconds: 30 });
      expect(end.data).toMatchObject({ state: 'ended' });
      await call(client, 'destroy_sandbox', { sandboxId: sandbox });
    }));

  it('gets annotations of each tool that match the audit', () =>
    withClient(door, revision, async (client) => {
      const { tools } = await client.listTools();
      const { data } = await call(client, 'create_sandbox', { source: 'golden-debian12' });
      const sandbox = String(data['sandboxId']);
      const { commandId } = (await call(client, 'run_command', { sandboxId: sandbox, command: 'true' })).data;
      const { snapshotId } = (await call(client, 'snapshot', { sandboxId: sandbox })).data;
      const before = await kinds(sandbox);
      const reading: Record<string, object> = {
        list: { kind: 'sandboxes' },
        get_sandbox: { sandboxId: sandbox },
        read_output: { sandboxId: sandbox, commandId },
        read_file: { sandboxId: sandbox, path: '/etc/hostname' },
        list_files: { sandboxId: sandbox, path: '/etc' },
        diff: { from: snapshotId },
        look_at_source: { source: 'golden-debian12', command: 'true' },
        get_approval: { approvalId: 'apr-0123456789abcdef' },
      };
      const said = tools.filter(({ annotations }) => annotations?.readOnlyHint).map(({ name }) => name);
      expect(said.toSorted()).toEqual(Object.keys(reading).toSorted());
      for (const [name, args] of Object.entries(reading)) await call(client, name, args);
      const after = (await kinds(sandbox)).slice(before.length);
      // A comparison with the present state takes an ephemeral snapshot.
      expect(after.filter((kind) => !/^(?:file\.read|snapshot\..*)$/.test(kind))).toEqual([]);
      await call(client, 'destroy_sandbox', { sandboxId: sandbox });
    }));

  it('gets a remedy for an unknown id', () =>
    withClient(door, revision, async (client) => {
      const result = await call(client, 'run_command', { sandboxId: 'sbx-0000000000000000', command: 'true' });
      expect(result.isError).toBe(true);
      expect(result.text).toMatch(/^sandbox_not_found: .*\nNext: Call list /);
    }));
});
