import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AuditEvent } from '../../../model/sandbox/audit.ts';
import type { Store } from '../../../store/connect.ts';
import { sandboxId } from '../../store/support.ts';
import { listen } from '../../support/listen.ts';
import { openStore } from '../../support/open-store.ts';
import { type StoreServer, startStoreServer } from '../../support/store-server.ts';

/** Requests whose connection is cut: those that contain the text, before the server gets them or before its answer. */
let cut: { text: string; when: 'before' | 'after' } | null = null;
let server: StoreServer;
let relay: Server;
let store: Store;

function event(n: number): AuditEvent {
  const at = new Date(Date.UTC(2026, 0, 1, 0, 0, n)).toISOString();
  return {
    eventId: `event-${n}`,
    kind: 'sandbox.step',
    actor: { apiKeyId: '0123456789ab', agentId: null, project: 'default' },
    runId: 'run',
    hostId: 'kvm-1',
    at,
    detail: {},
  };
}

beforeAll(async () => {
  server = await startStoreServer();
  const { hostname, port, pathname } = new URL(server.uri);
  relay = createServer((client) => relayed(client, connect(Number(port), hostname)));
  const uri = `mongodb://127.0.0.1:${await listen(relay)}${pathname}`;
  store = await openStore(uri, { auditKey: new Uint8Array(32) });
});
afterAll(async () => {
  await store?.close();
  relay?.close();
  await server?.stop();
});

function relayed(client: Socket, backend: Socket): void {
  client.on('data', (request) => {
    const isHit = cut !== null && request.includes(cut.text);
    if (isHit && cut?.when === 'before') client.destroy();
    else backend.write(request);
    if (isHit) backend.once('data', () => client.destroy());
  });
  backend.on('data', (answer) => client.writable && client.write(answer));
  for (const [one, other] of [[client, backend] as const, [backend, client] as const])
    one.on('error', () => {}).on('close', () => other.destroy()); // a cut is tested here
}

/** The driver wraps a lost connection in a bulk write error, which then names no refused document. */
test.for(['before', 'after'] as const)(
  'an audit entry whose connection is cut %s the server has it is not reported as written',
  async (when) => {
    const id = sandboxId(when === 'before' ? 1 : 2);
    await store.audit.append(id, event(0));
    cut = { text: 'previousHash', when };
    await expect(store.audit.append(id, event(1))).rejects.toMatchObject({ code: 'store_unavailable' });
    cut = null;
    await store.audit.append(id, event(1));
    await store.audit.append(id, event(2));
    expect(await store.audit.verify(id)).toMatchObject({ ok: true, entries: 3 });
  },
);

test('a head whose connection is cut is advanced by the next append', async () => {
  const id = sandboxId(3);
  cut = { text: '$max', when: 'before' };
  await expect(store.audit.append(id, event(0))).rejects.toMatchObject({ code: 'store_unavailable' });
  cut = null;
  await store.audit.append(id, event(0));
  expect(await store.audit.verify(id)).toMatchObject({ ok: true, entries: 1 });
});
