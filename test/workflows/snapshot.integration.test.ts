import { describe, expect, test } from 'vitest';
import { unprovenLayers } from '../../model/proof.ts';
import { snapshotWorkflowIdOf } from '../../model/snapshot.ts';
import { useMayfly } from '../support/mayfly.ts';
import { useOperations } from '../support/operations.ts';

const mayfly = useMayfly();
const operations = useOperations(mayfly);

/** A hang must be noticed by the step's own time-out. */
const HANGS = {
  saveSnapshot: { saveSnapshotMs: 300, hostDownMs: 600 },
  verifySnapshot: { verifySnapshotMs: 300, hostDownMs: 600 },
};
const STEPS = ['saveSnapshot', 'verifySnapshot'] as const;

test('what was written is in the snapshot, what comes after is not, and forks outlive the sandbox', async () => {
  const input = mayfly().input();
  await mayfly().create(input);
  await operations().write(input.id, 'before');
  const snapshot = await operations().snapshot(input.id, 'base');
  expect(snapshot).toMatchObject({
    sandboxId: input.id,
    hostId: 'test',
    name: 'base',
    state: 'ready',
    reason: 'requested',
    parentId: null,
    saved: { kind: 'disk', disks: [{ sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }] },
    failure: null,
  });
  await operations().write(input.id, 'after');
  expect(await mayfly().record(input.id)).toMatchObject({ state: 'running', parentSnapshotId: snapshot.id });
  const second = await operations().snapshot(input.id);
  expect(second).toMatchObject({ name: second.id, parentId: snapshot.id });
  await mayfly().keepHistory('snapshot', input.id);
  const kinds = (await operations().told(input.id)).map(({ kind }) => kind);
  expect(kinds).toEqual(expect.arrayContaining(['snapshot.requested', 'snapshot.ready']));
  expect(await mayfly().store.audit.verify(input.id)).toMatchObject({ ok: true });
  await mayfly().destroy(input);

  const forks = await Promise.all(
    [1, 2].map(() => mayfly().create(mayfly().input({ snapshotId: snapshot.id, source: snapshot.source }))),
  );
  for (const fork of forks) {
    expect(fork).toMatchObject({ state: 'running', parentSnapshotId: snapshot.id, failure: null });
    expect(await operations().read(fork.id)).toBe('before');
    expect(await operations().sh(fork.id, 'hostname')).toBe(`${fork.id}\n`);
  }
  expect(new Set(forks.map(({ ssh }) => ssh?.hostKey)).size).toBe(2);
  await mayfly().keepHistory('fork', forks[0]?.id ?? '');
});

describe.each(STEPS)('when %s', (step) => {
  test.each(['before', 'during', 'after'])('fails %s its effect, nothing of it is left', async (where) => {
    const { id } = await mayfly().create();
    mayfly().failpoints.arm(`${step}.${where}=error`);
    const failed = await operations().snapshot(id, 'again');
    expect(failed).toMatchObject({ state: 'failed', saved: null, failure: { step } });
    expect(await operations().onHost()).toEqual([]);
    await operations().write(id, 'it goes on');
    expect(await mayfly().record(id)).toMatchObject({ state: 'running', waitingFor: null, parentSnapshotId: null });
    mayfly().failpoints.arm(undefined);
    expect(await operations().snapshot(id, 'again')).toMatchObject({ state: 'ready', name: 'again' });
    if (step === 'saveSnapshot' && where === 'after') await mayfly().keepHistory('snapshot-failed', id);
  });

  test('hangs, nothing of it is left and the guest is not frozen', async () => {
    const { id } = await mayfly().create(mayfly().input({}, HANGS[step]));
    mayfly().failpoints.arm(`${step}.during=hang`);
    expect(await operations().snapshot(id)).toMatchObject({ state: 'failed', failure: { step, code: 'step_timeout' } });
    expect(await operations().onHost()).toEqual([]);
    await operations().write(id, 'it goes on');
  });

  test('is under way, a delete of the sandbox takes it back first', async () => {
    const input = mayfly().input();
    await mayfly().create(input);
    mayfly().failpoints.arm(`${step}.during=hang`);
    const snapshotId = await operations().beginSnapshot(input.id);
    const ended = operations().ended(input.id, snapshotId);
    const destroyed = await mayfly().destroy(input);
    expect(destroyed).toMatchObject({ state: 'destroyed', stopReason: 'deleted' });
    expect(unprovenLayers(destroyed.proof?.observations ?? [])).toEqual([]);
    expect(await ended).toMatchObject({ code: 'sandbox_ended' });
    expect(await operations().record(snapshotId)).toMatchObject({
      state: 'failed',
      failure: { code: 'sandbox_ended' },
    });
    expect(await operations().onHost()).toEqual([]);
    if (step === 'saveSnapshot') await mayfly().keepHistory('deleted-while-saving', input.id);
  });

  test('fails once in a way that a retry cures, the snapshot is there', async () => {
    const { id } = await mayfly().create();
    mayfly().failpoints.arm(`${step}.after=1*error(host_unavailable)`);
    expect(await operations().snapshot(id)).toMatchObject({ state: 'ready' });
  });
});

describe.each(['thaw', 'removeSnapshot'])('when the undo %s', (undo) => {
  test.each(['before', 'after'])('fails %s its effect a few times, it is repeated until it holds', async (where) => {
    const { id } = await mayfly().create();
    mayfly().failpoints.arm(`saveSnapshot.after=error;${undo}.${where}=4*error`);
    expect(await operations().snapshot(id)).toMatchObject({ state: 'failed', failure: { step: 'saveSnapshot' } });
    expect(await operations().onHost()).toEqual([]);
    expect(await mayfly().record(id)).toMatchObject({ state: 'running', waitingFor: null });
  });
});

test.each(['deleted', 'ttl'])(
  'a guest that is never thawed is waited for, but not when it ends (%s)',
  async (stopReason) => {
    const input = mayfly().input();
    await mayfly().create(input);
    mayfly().failpoints.arm('saveSnapshot.after=error;thaw.before=error(guest_unreachable)');
    const snapshotId = await operations().beginSnapshot(input.id);
    await mayfly().until(input.id, ({ waitingFor }) => waitingFor?.startsWith('thaw on host test') ?? false);
    const failure = operations().ended(input.id, snapshotId);
    if (stopReason === 'ttl') await mayfly().sagas.patch(input.id, { ttlSeconds: 1, actor: input.createdBy });
    const ended = await (stopReason === 'ttl' ? mayfly().end(input.id) : mayfly().destroy(input));
    expect(ended).toMatchObject({ state: 'destroyed', stopReason, waitingFor: null });
    expect(unprovenLayers(ended.proof?.observations ?? [])).toEqual([]);
    expect(await failure).toMatchObject({ step: 'saveSnapshot', code: 'fault_injected' });
    expect(await operations().record(snapshotId)).toMatchObject({ state: 'failed', failure: { step: 'saveSnapshot' } });
    expect(await operations().onHost()).toEqual([]);
    if (stopReason === 'deleted') await mayfly().keepHistory('deleted-while-frozen', input.id);
  },
);

describe('one operation at a time', () => {
  test('another is refused while one is under way, and the same joins it', async () => {
    const { id } = await mayfly().create();
    mayfly().failpoints.arm('saveSnapshot.before=1*delay(1000)');
    const actor = { apiKeyId: 'test', agentId: null };
    const operationId = await operations().beginSnapshot(id, 'one');
    await expect(operations().beginSnapshot(id, 'two')).rejects.toMatchObject({ code: 'sandbox_busy' });
    await expect(operations().beginPause(id, 'pause')).rejects.toMatchObject({ code: 'sandbox_busy' });
    await operations().begin(id, { kind: 'snapshot', operationId, name: 'one', snapshotKind: 'disk', actor });
    expect(await operations().ended(id, operationId)).toBeNull();
    await operations().begin(id, { kind: 'snapshot', operationId, name: 'one', snapshotKind: 'disk', actor });
    expect(await operations().onHost()).toHaveLength(1);
  });

  test('a name is one snapshot’s, until it is deleted', async () => {
    const { id } = await mayfly().create();
    const first = await operations().snapshot(id, 'base');
    await expect(operations().beginSnapshot(id, 'base')).rejects.toMatchObject({ code: 'snapshot_name_taken' });
    await operations().delete(first);
    expect(await operations().snapshot(id, 'base')).toMatchObject({ state: 'ready' });
  });

  test('what does not run or has ended is refused; a host that cannot save memory says so, and nothing is left', async () => {
    const input = mayfly().input();
    mayfly().failpoints.arm('awaitIp.before=hang');
    await mayfly().sagas.create(input);
    await expect(operations().beginSnapshot(input.id)).rejects.toMatchObject({ code: 'sandbox_not_running' });
    await mayfly().destroy(input);
    await expect(operations().beginSnapshot(input.id)).rejects.toMatchObject({ code: 'sandbox_ended' });
    mayfly().failpoints.arm(undefined);
    const { id } = await mayfly().create();
    const full = { kind: 'snapshot', snapshotKind: 'full', name: 'x', operationId: 'snp-0000000000000000' } as const;
    const actor = { apiKeyId: 'test', agentId: null };
    await operations().begin(id, { ...full, actor });
    expect(await operations().ended(id, full.operationId)).toMatchObject({ code: 'snapshot_unsupported' });
    expect(await operations().snapshot(id)).toMatchObject({ state: 'ready', kind: 'disk' });
  });

  test('an operation is use: the idle timer does not end it, and counts from its end', async () => {
    const input = mayfly().input({ idleSeconds: 2 });
    await mayfly().create(input);
    mayfly().failpoints.arm('saveSnapshot.before=1*delay(3500)');
    expect(await operations().snapshot(input.id)).toMatchObject({ state: 'ready' });
    expect(await mayfly().record(input.id)).toMatchObject({ state: 'running' });
    expect(await mayfly().end(input.id)).toMatchObject({ state: 'destroyed', stopReason: 'idle' });
  });
});

describe('deleting', () => {
  test.each(['before', 'during', 'after'])('fails %s its effect a few times, and is repeated', async (where) => {
    const input = mayfly().input();
    await mayfly().create(input);
    const snapshot = await operations().snapshot(input.id);
    await mayfly().destroy(input);
    mayfly().failpoints.arm(`removeSnapshot.${where}=1*error`);
    const deleted = await operations().delete(snapshot);
    expect(deleted).toMatchObject({ state: 'deleted', keptFor: null });
    expect(await operations().onHost()).toEqual([]);
    expect(await operations().delete(snapshot)).toEqual(deleted);
    const kinds = (await operations().told(input.id)).map(({ kind }) => kind);
    expect(kinds.slice(-2)).toEqual(['snapshot.deleting', 'snapshot.deleted']);
    expect(await mayfly().store.audit.verify(input.id)).toMatchObject({ ok: true });
    const fork = await mayfly().create(mayfly().input({ snapshotId: snapshot.id }));
    expect(await mayfly().end(fork.id)).toMatchObject({ state: 'failed', failure: { code: 'snapshot_not_ready' } });
    if (where === 'before') await mayfly().keepHistory('snapshot-deleted', '', snapshotWorkflowIdOf(snapshot.id));
  });
});

test('a snapshot that a lost workflow left half made is taken back with its sandbox', async () => {
  const input = mayfly().input();
  await mayfly().create(input);
  mayfly().failpoints.arm('verifySnapshot.before=hang');
  const snapshotId = await operations().beginSnapshot(input.id);
  await mayfly().client.workflow.getHandle(`sandbox/${input.id}`).terminate('lost');
  mayfly().failpoints.arm('thaw.before=error(guest_unreachable)');
  expect(await mayfly().destroy(input)).toMatchObject({ state: 'destroyed' });
  expect(await operations().record(snapshotId)).toMatchObject({ state: 'failed' });
  expect(await operations().onHost()).toEqual([]);
  await mayfly().keepHistory('taken-over-while-saving', input.id);
});
