import { describe, expect, test } from 'vitest';
import { unprovenLayers } from '../../model/proof.ts';
import type { SandboxRecord } from '../../model/sandbox.ts';
import type { SnapshotRecord } from '../../model/snapshot.ts';
import type { Timeouts } from '../../model/timeouts.ts';
import { useMayfly } from '../support/mayfly.ts';
import { useOperations } from '../support/operations.ts';

const mayfly = useMayfly();
const operations = useOperations(mayfly);

/** Steps of a restore from when the machine goes off. */
const STEPS = ['removeDomain', 'revertDisk', 'bootDomain', 'awaitIp', 'verifySsh'] as const;

/** A running sandbox with `old` in a snapshot of it and `new` in its disk. */
async function changedSandbox(timeouts: Partial<Timeouts> = {}): Promise<{ id: string; snapshot: SnapshotRecord }> {
  const { id } = await mayfly().create(mayfly().input({}, timeouts));
  await operations().write(id, 'old');
  const snapshot = await operations().snapshot(id);
  await operations().write(id, 'new');
  return { id, snapshot };
}

function identity({ id, spec, macAddress, ssh }: SandboxRecord): object {
  return { id, spec, macAddress, ssh };
}

test('a sandbox goes back and forth, and stays who it is', async () => {
  const { id, snapshot } = await changedSandbox();
  const before = await mayfly().record(id);
  const running = await operations().door.run(id, { command: 'echo begun; sleep 600' }, 0);
  await operations().door.until(running, ({ state }) => state === 'running');

  const { failure, kept } = await operations().restore(id, snapshot.id);
  expect(failure).toBeNull();
  expect(kept).toMatchObject({ state: 'ready', reason: 'before-restore', parentId: snapshot.id, sandboxId: id });
  const after = await mayfly().record(id);
  expect(after).toMatchObject({ state: 'running', parentSnapshotId: snapshot.id, waitingFor: null, failure: null });
  expect(identity(after)).toEqual(identity(before));
  expect(await operations().read(id)).toBe('old');
  expect(await operations().door.ended(running)).toMatchObject({ outcome: 'interrupted' });

  expect(await operations().restore(id, kept?.id ?? '', { keep: false })).toEqual({ failure: null, kept: null });
  expect(await operations().read(id)).toBe('new');
  await mayfly().keepHistory('restored', id);
  const told = await operations().told(id);
  expect(told.filter(({ kind }) => kind === 'sandbox.restored').map(({ detail }) => detail)).toMatchObject([
    { snapshotId: snapshot.id, keptAs: kept?.id },
    { snapshotId: kept?.id, keptAs: null },
  ]);
  expect(await mayfly().store.audit.verify(id)).toMatchObject({ ok: true });
});

describe.each(STEPS)('when %s of a restore', (step) => {
  test.each(['before', 'after'])('fails %s its effect, the sandbox is what it was', async (where) => {
    const { id, snapshot } = await changedSandbox();
    mayfly().failpoints.arm(`${step}.${where}=1*error`);
    const { failure, kept } = await operations().restore(id, snapshot.id);
    expect(failure).toMatchObject({ step, code: 'fault_injected' });
    expect(kept).toMatchObject({ state: 'ready' });
    const record = await mayfly().record(id);
    expect(record).toMatchObject({ state: 'running', parentSnapshotId: kept?.id, waitingFor: null });
    expect(await operations().read(id)).toBe('new');
    const told = await operations().told(id);
    expect(told.find(({ kind }) => kind === 'sandbox.restore-failed')).toMatchObject({ detail: { failure } });
    if (step === 'bootDomain' && where === 'before') await mayfly().keepHistory('restore-failed', id);
  });

  test('fails and nothing was kept, the restore is tried until it holds', async () => {
    const { id, snapshot } = await changedSandbox();
    mayfly().failpoints.arm(`${step}.after=2*error`);
    const { failure } = await operations().restore(id, snapshot.id, { keep: false });
    // Before the disks are touched it is brought back with them; later there is only the way ahead.
    expect(failure).toEqual(step === 'removeDomain' ? expect.objectContaining({ step }) : null);
    expect(await mayfly().record(id)).toMatchObject({ state: 'running', waitingFor: null });
    expect(await operations().read(id)).toBe(step === 'removeDomain' ? 'new' : 'old');
  });

  test('fails and so does what brings it back, it says what it waits for, and a delete ends it', async () => {
    const { id, snapshot } = await changedSandbox();
    mayfly().failpoints.arm(`${step}.before=error`);
    const { operationId } = await operations().beginRestore(id, snapshot.id, true);
    const waiting = await mayfly().until(id, ({ waitingFor }) => waitingFor !== null);
    expect(waiting).toMatchObject({ state: 'restoring', waitingFor: expect.stringContaining(step) });
    const ended = operations().ended(id, operationId);
    if (step === 'removeDomain') mayfly().failpoints.arm(undefined); // the cleanup needs it too
    const destroyed = await mayfly().destroy({ ...mayfly().input(), id });
    expect(destroyed).toMatchObject({ state: 'destroyed', waitingFor: null });
    expect(unprovenLayers(destroyed.proof?.observations ?? [])).toEqual([]);
    await ended;
  });

  test('is under way, a delete cuts it short and cleans up', async () => {
    const { id, snapshot } = await changedSandbox();
    mayfly().failpoints.arm(`${step}.after=1*hang`);
    const { operationId } = await operations().beginRestore(id, snapshot.id, true);
    await operations().beganStep(id, step);
    const ended = operations().ended(id, operationId);
    const destroyed = await mayfly().destroy({ ...mayfly().input(), id });
    expect(destroyed).toMatchObject({ state: 'destroyed', stopReason: 'deleted' });
    expect(unprovenLayers(destroyed.proof?.observations ?? [])).toEqual([]);
    expect(await ended).toMatchObject({ code: 'sandbox_ended' });
    if (step === 'revertDisk') await mayfly().keepHistory('deleted-while-restoring', id);
  });
});

test('a step that hangs is given up, and the sandbox is what it was', async () => {
  const { id, snapshot } = await changedSandbox({ revertDiskMs: 300, hostDownMs: 600 });
  mayfly().failpoints.arm('revertDisk.during=1*hang');
  const { failure } = await operations().restore(id, snapshot.id);
  expect(failure).toMatchObject({ step: 'revertDisk', code: 'step_timeout' });
  expect(await operations().read(id)).toBe('new');
});

test('what is cannot be kept: then nothing is done, and what runs runs on', async () => {
  const { id, snapshot } = await changedSandbox();
  const running = await operations().door.run(id, { command: 'while true; do sleep 0.1; done' }, 0);
  await operations().door.until(running, ({ state }) => state === 'running');
  mayfly().failpoints.arm('verifySnapshot.after=error');
  const { failure, kept } = await operations().restore(id, snapshot.id);
  expect(failure).toMatchObject({ step: 'verifySnapshot' });
  expect(kept).toMatchObject({ state: 'failed' });
  expect(await mayfly().record(id)).toMatchObject({ state: 'running', parentSnapshotId: snapshot.id });
  expect(await operations().read(id)).toBe('new');
  expect(await operations().door.get(running)).toMatchObject({ state: 'running' });
});

test('only a whole snapshot of its own will do', async () => {
  const { id, snapshot } = await changedSandbox();
  const other = await mayfly().create();
  await expect(operations().beginRestore(other.id, snapshot.id, true)).rejects.toMatchObject({
    code: 'snapshot_not_found',
  });
  await operations().delete(snapshot);
  await expect(operations().beginRestore(id, snapshot.id, true)).rejects.toMatchObject({ code: 'snapshot_not_ready' });
  expect(await mayfly().record(id)).toMatchObject({ state: 'running' });
});

test('a snapshot that its host has lost leaves the sandbox as it was', async () => {
  const { id, snapshot } = await changedSandbox();
  await mayfly().host?.machine.hypervisor.snapshots.remove(snapshot.id);
  expect(await operations().restore(id, snapshot.id, { keep: false })).toMatchObject({
    failure: { step: 'revertDisk', code: 'snapshot_not_found' },
  });
  expect(await mayfly().record(id)).toMatchObject({ state: 'running', waitingFor: null });
  expect(await operations().read(id)).toBe('new');
});
