import { describe, expect } from 'vitest';
import type { AuditKind } from '../../model/sandbox/audit.ts';
import { useSagaCases } from '../support/saga-cases.ts';

const { test, mayfly: all } = useSagaCases();

async function auditOf(sandboxId: string): Promise<{ kind: AuditKind; detail: Record<string, unknown> }[]> {
  const entries = await all().store.audit.entries(sandboxId, { limit: 500 });
  return entries
    .map(({ body }) => JSON.parse(body) as { kind: AuditKind; detail: Record<string, unknown> })
    .filter(({ kind }) => kind.startsWith('command.'));
}

describe.concurrent('a command', () => {
  test('runs once, and its answer has its outcome and output', async ({ mayfly, operations: { door } }) => {
    const { id } = await mayfly.createRunning();
    const command = await door.run(id, { command: 'echo "$GREETING"; echo oops >&2; exit 3', env: { GREETING: 'hi' } });
    expect(command).toMatchObject({
      state: 'ended',
      outcome: 'exited',
      exitCode: 3,
      spec: { envNames: ['GREETING'] },
      stdout: { bytes: 3, kept: 3 },
      output: { stdout: { text: 'hi\n', truncated: false }, stderr: { text: 'oops\n', truncated: false } },
    });
    expect(await mayfly.store.commandInputs.get(command.id)).toBeNull();
    await mayfly.client.workflow.getHandle(`command/${command.id}`).result();
    expect(await mayfly.store.activity.get(id)).toMatchObject({ openCommands: [] });
    const audit = await auditOf(id);
    expect(audit.map(({ kind }) => kind)).toEqual(['command.requested', 'command.started', 'command.ended']);
    expect(audit[0]?.detail).toMatchObject({ commandId: command.id, env: ['GREETING'] });
    expect(JSON.stringify(audit)).not.toContain('"hi"');
  });

  test('with a repeated key runs once, also concurrently', async ({ mayfly, operations: { door } }) => {
    const { id } = await mayfly.createRunning();
    const ask = () =>
      door.call(
        'POST',
        `/v1/sandboxes/${id}/commands`,
        { command: 'echo x >> /tmp/once; cat /tmp/once' },
        {
          'Idempotency-Key': 'once',
        },
      );
    const answers = await Promise.all([ask(), ask(), ask()]);
    const views = (await Promise.all([...answers, await ask()].map((answer) => answer.json()))) as { id: string }[];
    expect(new Set(views.map((view) => view.id)).size).toBe(1);
    expect(views.at(-1)).toMatchObject({ output: { stdout: { text: 'x\n' } } });
  });

  test('is reported as started while it runs, and cancelled with all its processes', async ({
    mayfly,
    operations: { door },
  }) => {
    const { id } = await mayfly.createRunning();
    const command = await door.run(id, { command: 'sleep 1000 & sleep 1000' }, 0);
    await door.until(command, ({ state }) => state === 'running');
    const path = `/v1/sandboxes/${id}/commands/${command.id}/cancel?signal=SIGPIPE`;
    const asked = await door.call('POST', path);
    expect(asked.status).toBe(202);
    expect(await door.ended(command)).toMatchObject({ outcome: 'cancelled', signal: 'SIGPIPE' });
    expect((await door.call('POST', path)).status).toBe(200);
    await mayfly.client.workflow.getHandle(`command/${command.id}`).result();
    const kinds = (await auditOf(id)).map(({ kind }) => kind);
    expect([kinds[0], kinds.slice(1, 3).toSorted(), ...kinds.slice(3)]).toEqual([
      'command.requested',
      ['command.cancel-asked', 'command.started'],
      'command.ended',
    ]);
  });
});
