import { expect } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import type { MayflyCase } from '../../support/mayfly-case.ts';
import type { TestOperations } from '../../support/operations.ts';
import { useSagaCases } from '../../support/saga-cases.ts';

const { test } = useSagaCases();

/** Where the sandbox's counter is, read on the host: the guest may stand still. */
async function counted(operations: TestOperations, id: string): Promise<number> {
  return Number(await operations.onDisk(id, 'count'));
}

const countsBeyond = (operations: TestOperations, id: string, at: number) =>
  eventually(
    () => counted(operations, id),
    (now) => now > at,
  );

/** Asserts that it does not count while another sandbox does. */
async function expectStandstill(mayfly: MayflyCase, operations: TestOperations, id: string, at: number): Promise<void> {
  const other = await countingSandbox(mayfly, operations);
  await countsBeyond(operations, other, (await counted(operations, other)) + 5);
  expect(await counted(operations, id)).toBe(at);
}

async function countingSandbox(mayfly: MayflyCase, operations: TestOperations): Promise<string> {
  const { id } = await mayfly.create();
  const counting = 'i=0; while true; do i=$((i+1)); echo $i > ~/count.new; mv ~/count.new ~/count; sleep 0.02; done';
  const command = await operations.door.run(id, { command: counting }, 0);
  await operations.door.until(command, ({ state }) => state === 'running');
  await eventually(
    () => counted(operations, id).catch(() => 0), // it is not there before the first count
    (now) => now > 0,
  );
  return id;
}

test('a paused sandbox stands still, and goes on where it was', async ({ mayfly, operations }) => {
  const id = await countingSandbox(mayfly, operations);
  expect(await operations.pause(id)).toBeNull();
  expect(await mayfly.record(id)).toMatchObject({ state: 'paused' });
  const at = await counted(operations, id);
  expect(await operations.pause(id)).toBeNull();
  await expectStandstill(mayfly, operations, id, at);

  const snapshot = await operations.snapshot(id);
  expect(snapshot).toMatchObject({ state: 'ready', saved: { quiesced: expect.any(Boolean) } });
  expect(await mayfly.record(id)).toMatchObject({ state: 'paused' });
  expect(await counted(operations, id)).toBe(at);

  expect(await operations.resume(id)).toBeNull();
  expect(await mayfly.record(id)).toMatchObject({ state: 'running' });
  await countsBeyond(operations, id, at);
  expect(await operations.resume(id)).toBeNull();
  await mayfly.keepHistory('paused', id);
});

test('a paused sandbox is restored, and runs then', async ({ mayfly, operations }) => {
  const { id } = await mayfly.create();
  await operations.write(id, 'old');
  const snapshot = await operations.snapshot(id);
  await operations.pause(id);
  const { failure, kept } = await operations.restore(id, snapshot.id);
  expect(failure).toBeNull();
  expect(kept).toMatchObject({ state: 'ready' });
  expect(await operations.read(id)).toBe('old');
});

test('a simulated host cannot hibernate, and says so; the sandbox goes on', async ({ mayfly, operations }) => {
  const { id } = await mayfly.create();
  expect(await operations.hibernate(id)).toMatchObject({ code: 'hibernation_unsupported', step: 'hibernate' });
  expect(await mayfly.record(id)).toMatchObject({ state: 'running', waitingFor: null });
  expect(await operations.sh(id, 'echo here')).toBe('here\n');
});

test('a paused sandbox ends by its TTL, not by being idle', async ({ mayfly, operations }) => {
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
