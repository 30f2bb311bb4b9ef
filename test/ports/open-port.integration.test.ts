import { expect, test } from 'vitest';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import { awaitClose, useOpenPorts } from './open-ports.ts';

const { mayfly, client, createServer, ask, getStatus } = useOpenPorts();

// Case 8 of the ports of issue 15.
test('a destroy is not delayed by streams through an open port, which end at once, and no port stays open', async () => {
  const target = await createServer();
  await client().ports.open(target.id, target.port);
  const { token } = await client().ports.issueToken(target.id, target.port);
  const streams = await Promise.all(Array.from({ length: 90 }, () => ask(target, token, '/stream')));
  const over = streams.map(awaitClose);
  // Without the destroy the guest would stream beyond the test's timeout.
  expect((await client().destroySandbox(target.id)).state).toBe('destroyed');
  await Promise.all(over);
  expect(await getStatus(target, token)).toEqual({ status: 404, code: 'not_found' });
  expect(await mayfly().store.exposedPorts.of(target.id)).toEqual([]);
  await expect(client().ports.open(target.id, target.port)).rejects.toMatchObject({ code: 'sandbox_ended' });
  const { items } = await client().sandboxAudit(target.id, { limit: 200 });
  const events = items.map(({ body }) => JSON.parse(body) as AuditEvent).filter(({ kind }) => kind.startsWith('port.'));
  expect(events.map(({ kind }) => kind)).toEqual(['port.opened', 'port.token-issued', 'port.connected']);
  expect(JSON.stringify(items)).not.toContain(token);
});
