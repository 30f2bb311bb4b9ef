import { expect } from 'vitest';
import { useSagaCases } from '../../support/saga-cases.ts';

const { test } = useSagaCases();

test('a paused sandbox can be restored, and runs afterwards', async ({ mayfly, operations }) => {
  const { id } = await mayfly.create();
  await operations.write(id, 'old');
  const snapshot = await operations.snapshot(id);
  await operations.pause(id);
  const { failure, kept } = await operations.restore(id, snapshot.id);
  expect(failure).toBeNull();
  expect(kept).toMatchObject({ state: 'ready' });
  expect(await operations.read(id)).toBe('old');
});

test('a simulated host refuses to hibernate, and the sandbox keeps running', async ({ mayfly, operations }) => {
  const { id } = await mayfly.create();
  expect(await operations.hibernate(id)).toMatchObject({ code: 'hibernation_unsupported', step: 'hibernate' });
  expect(await mayfly.record(id)).toMatchObject({ state: 'running', waitingFor: null });
  expect(await operations.sh(id, 'echo here')).toBe('here\n');
});

test('a paused sandbox ends at its TTL, but not for idleness', async ({ mayfly, operations }) => {
  const input = mayfly.input({ ttlSeconds: 600 });
  await mayfly.create(input);
  await operations.pause(input.id);
  const patched = await operations.door.call('PATCH', `/v1/sandboxes/${input.id}`, { ttlSeconds: 8, idleSeconds: 2 });
  expect(patched.status).toBe(200);
  expect(await mayfly.end(input.id)).toMatchObject({ state: 'destroyed', stopReason: 'ttl' });
});

test('a delete ends a paused sandbox, and one that is being paused', async ({ mayfly, operations }) => {
  const paused = mayfly.input();
  await mayfly.create(paused);
  await operations.pause(paused.id);
  expect(await mayfly.destroy(paused)).toMatchObject({ state: 'destroyed' });
  const pausing = mayfly.input();
  await mayfly.create(pausing);
  mayfly.arm('pause.after=hang', pausing.id);
  const operationId = await operations.beginPause(pausing.id, 'pause');
  const ended = operations.ended(pausing.id, operationId);
  expect(await mayfly.destroy(pausing)).toMatchObject({ state: 'destroyed' });
  expect(await ended).toMatchObject({ code: 'sandbox_ended' });
});
