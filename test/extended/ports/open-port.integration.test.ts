import { expect, test } from 'vitest';
import { awaitClose, useOpenPorts } from '../../ports/open-ports.ts';
import { eventually } from '../../support/eventually.ts';

const { mayfly, client, createServer, ask, getStatus } = useOpenPorts();

// Case 4: the relay ends, and another one replaces it.
test('a restarted host worker cuts open connections, and the next request works', async () => {
  const target = await createServer();
  await client().ports.open(target.id, target.port);
  const { token } = await client().ports.issueToken(target.id, target.port);
  const stream = await ask(target, token, '/stream');
  const over = awaitClose(stream);
  await mayfly().host?.stop();
  await over;
  expect(await getStatus(target, token)).toEqual({ status: 503, code: 'host_unavailable' });
  await mayfly().startHost();
  expect((await getStatus(target, token)).status).toBe(200);
  await client().destroySandbox(target.id);
});

test('a fork has no open ports, and rejects tokens of its parent', async () => {
  const target = await createServer();
  await client().ports.open(target.id, target.port);
  const { token } = await client().ports.issueToken(target.id, target.port);
  const snapshot = await client().snapshots.take(target.id);
  const { id } = await client().createSandbox({ snapshotId: snapshot.id });
  expect(await client().ports.list(id)).toEqual([]);
  expect((await getStatus({ id, port: target.port }, token)).status).toBe(404);
  await client().ports.open(id, target.port);
  expect((await getStatus({ id, port: target.port }, token)).status).toBe(404);
  await client().destroySandbox(id);
  await client().destroySandbox(target.id);
});

test('a paused sandbox answers 503, or is resumed by a request if its port is set to wake', async () => {
  const target = await createServer();
  await client().ports.open(target.id, target.port);
  const { token } = await client().ports.issueToken(target.id, target.port);
  await client().pauseSandbox(target.id);
  expect(await getStatus(target, token)).toEqual({ status: 503, code: 'sandbox_suspended' });
  await client().ports.close(target.id, target.port);
  await client().ports.open(target.id, target.port, { wake: true });
  const { token: waking } = await client().ports.issueToken(target.id, target.port);
  expect((await getStatus(target, waking)).status).toBe(200);
  expect((await client().getSandbox(target.id)).state).toBe('running');
  await client().destroySandbox(target.id);
});

test('traffic of an open port resets the idle timer of its sandbox', async () => {
  const target = await createServer();
  await client().ports.open(target.id, target.port);
  const { token } = await client().ports.issueToken(target.id, target.port);
  const { store } = mayfly();
  const before = (await store.activity.get(target.id)).usedAt;
  await eventually(
    async () => {
      await getStatus(target, token);
      return (await store.activity.get(target.id)).usedAt;
    },
    (usedAt) => usedAt > before,
  );
  await client().destroySandbox(target.id);
});
