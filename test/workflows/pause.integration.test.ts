import { describe, expect, test } from 'vitest';
import { useMayfly } from '../support/mayfly.ts';
import { useOperations } from '../support/operations.ts';

const mayfly = useMayfly();
const operations = useOperations(mayfly);

/** Where the sandbox's counter is, read on the host: the guest may stand still. */
async function counted(id: string): Promise<number> {
  return Number(await operations().onDisk(id, 'count'));
}

async function countingSandbox(): Promise<string> {
  const { id } = await mayfly().create();
  const counting = 'i=0; while true; do i=$((i+1)); echo $i > ~/count.new; mv ~/count.new ~/count; sleep 0.02; done';
  const command = await operations().door.run(id, { command: counting }, 0);
  await operations().door.until(command, ({ state }) => state === 'running');
  await expect.poll(() => counted(id)).toBeGreaterThan(0);
  return id;
}

test('a paused sandbox stands still, and goes on where it was', async () => {
  const id = await countingSandbox();
  expect(await operations().pause(id)).toBeNull();
  expect(await mayfly().record(id)).toMatchObject({ state: 'paused' });
  const at = await counted(id);
  expect(await operations().pause(id)).toBeNull();
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(await counted(id)).toBe(at);

  const snapshot = await operations().snapshot(id);
  expect(snapshot).toMatchObject({ state: 'ready', saved: { quiesced: expect.any(Boolean) } });
  expect(await mayfly().record(id)).toMatchObject({ state: 'paused' });
  expect(await counted(id)).toBe(at);

  expect(await operations().resume(id)).toBeNull();
  expect(await mayfly().record(id)).toMatchObject({ state: 'running' });
  await expect.poll(() => counted(id)).toBeGreaterThan(at);
  expect(await operations().resume(id)).toBeNull();
  await mayfly().keepHistory('paused', id);
});

test('a paused sandbox is restored, and runs then', async () => {
  const { id } = await mayfly().create();
  await operations().write(id, 'old');
  const snapshot = await operations().snapshot(id);
  await operations().pause(id);
  const { failure, kept } = await operations().restore(id, snapshot.id);
  expect(failure).toBeNull();
  expect(kept).toMatchObject({ state: 'ready' });
  expect(await operations().read(id)).toBe('old');
});

test('a simulated host cannot hibernate, and says so; the sandbox goes on', async () => {
  const { id } = await mayfly().create();
  expect(await operations().hibernate(id)).toMatchObject({ code: 'hibernation_unsupported', step: 'hibernate' });
  expect(await mayfly().record(id)).toMatchObject({ state: 'running', waitingFor: null });
  expect(await operations().sh(id, 'echo here')).toBe('here\n');
});

test('a paused sandbox ends by its TTL, not by being idle', async () => {
  const input = mayfly().input({ ttlSeconds: 5, idleSeconds: 1 });
  await mayfly().create(input);
  await operations().pause(input.id);
  expect(await mayfly().end(input.id)).toMatchObject({ state: 'destroyed', stopReason: 'ttl' });
});

describe.each(['before', 'during', 'after'])('a failure %s its effect', (where) => {
  test('of a pause leaves it running', async () => {
    const id = await countingSandbox();
    mayfly().failpoints.arm(`pause.${where}=error`);
    expect(await operations().pause(id)).toMatchObject({ step: 'pause', code: 'fault_injected' });
    expect(await mayfly().record(id)).toMatchObject({ state: 'running', waitingFor: null });
    const at = await counted(id);
    await expect.poll(() => counted(id)).toBeGreaterThan(at);
  });

  test('of a resume leaves it paused', async () => {
    const id = await countingSandbox();
    await operations().pause(id);
    const at = await counted(id);
    mayfly().failpoints.arm(`resume.${where}=1*error`);
    expect(await operations().resume(id)).toMatchObject({ step: 'resume', code: 'fault_injected' });
    expect(await mayfly().record(id)).toMatchObject({ state: 'paused', waitingFor: null });
    const now = await counted(id);
    expect(now).toBeGreaterThanOrEqual(at);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await counted(id)).toBe(now);
  });
});

test('a delete ends a paused sandbox, and one that is being paused', async () => {
  const paused = mayfly().input();
  await mayfly().create(paused);
  await operations().pause(paused.id);
  expect(await mayfly().destroy(paused)).toMatchObject({ state: 'destroyed' });
  const pausing = mayfly().input();
  await mayfly().create(pausing);
  mayfly().failpoints.arm('pause.after=hang');
  const operationId = await operations().beginPause(pausing.id, 'pause');
  const ended = operations().ended(pausing.id, operationId);
  expect(await mayfly().destroy(pausing)).toMatchObject({ state: 'destroyed' });
  expect(await ended).toMatchObject({ code: 'sandbox_ended' });
});
