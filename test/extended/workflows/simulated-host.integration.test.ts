import { describe, expect } from 'vitest';
import { unprovenLayers } from '../../../model/sandbox/layers.ts';
import type { SandboxRecord } from '../../../model/sandbox/sandbox.ts';
import { changedSandbox } from '../../support/changed-sandbox.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { sweepOn } from '../../support/sweep.ts';

/**
 * Each step of the sagas that are tested in memory, once with real processes, files and logins. What each of them does at
 * every other point is in the tests of its saga.
 */
const { test, alone } = useSagaCases();
const sweep = sweepOn(alone);

function identity({ id, spec, macAddress, ssh }: SandboxRecord): object {
  return { id, spec, macAddress, ssh };
}

describe.concurrent('on processes', () => {
  sweep(['reserve', 'cloneDisk', 'bootDomain', 'awaitIp', 'verifySsh'])(
    'a create whose %s fails after its effect leaves nothing',
    async (step, { mayfly }) => {
      const input = mayfly.input();
      mayfly.arm(`${step}.after=error`, input.id);
      await mayfly.create(input);
      const failed = await mayfly.end(input.id);
      expect(failed).toMatchObject({ state: 'failed', failure: { step, code: 'fault_injected' } });
      expect(unprovenLayers(failed.proof?.observations ?? [])).toEqual([]);
    },
  );

  test('a cleanup whose steps all fail a few times after their effect is repeated until it holds', async ({
    mayfly,
  }) => {
    const input = mayfly.input();
    await mayfly.create(input);
    const steps = ['removeCredentials', 'removeDomain', 'releaseLease', 'removeWorkspace', 'releaseReservation'];
    mayfly.arm([...steps, 'lookAgain'].map((step) => `${step}.after=2*error(host_unavailable)`).join(';'), input.id);
    const destroyed = await mayfly.destroy(input);
    expect(destroyed).toMatchObject({ state: 'destroyed', waitingFor: null });
    expect(unprovenLayers(destroyed.proof?.observations ?? [])).toEqual([]);
  });

  test('what was written is in the snapshot, what comes after is not, and forks outlive the sandbox', async ({
    mayfly,
    operations,
  }) => {
    const input = mayfly.input();
    await mayfly.create(input);
    await operations.write(input.id, 'before');
    const snapshot = await operations.snapshot(input.id, 'base');
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
    await operations.write(input.id, 'after');
    expect(await mayfly.record(input.id)).toMatchObject({ state: 'running', parentSnapshotId: snapshot.id });
    const second = await operations.snapshot(input.id);
    expect(second).toMatchObject({ name: second.id, parentId: snapshot.id });
    const kinds = (await operations.told(input.id)).map(({ kind }) => kind);
    expect(kinds).toEqual(expect.arrayContaining(['snapshot.requested', 'snapshot.ready']));
    expect(await mayfly.store.audit.verify(input.id)).toMatchObject({ ok: true });
    await mayfly.destroy(input);

    const forks = await Promise.all(
      [1, 2].map(() => mayfly.create(mayfly.input({ snapshotId: snapshot.id, source: snapshot.source }))),
    );
    for (const fork of forks) {
      expect(fork).toMatchObject({ state: 'running', parentSnapshotId: snapshot.id, failure: null });
      expect(await operations.read(fork.id)).toBe('before');
      expect(await operations.sh(fork.id, 'hostname')).toBe(`${fork.id}\n`);
    }
    expect(new Set(forks.map(({ ssh }) => ssh?.hostKey)).size).toBe(2);
  });

  sweep(['saveSnapshot', 'verifySnapshot'])(
    'a snapshot whose %s fails in its middle, and whose undos fail after their effect, leaves nothing',
    async (step, { mayfly, operations }) => {
      const { id } = await mayfly.create();
      mayfly.arm(`${step}.during=error;thaw.after=1*error;removeSnapshot.after=1*error`, id);
      expect(await operations.snapshot(id)).toMatchObject({ state: 'failed', saved: null, failure: { step } });
      expect(await operations.onHost()).toEqual([]);
      await operations.write(id, 'it goes on');
    },
  );

  test('a sandbox goes back and forth, and stays who it is', async ({ mayfly, operations }) => {
    const { id, snapshot } = await changedSandbox(mayfly, operations);
    const before = await mayfly.record(id);
    const running = await operations.door.run(id, { command: 'echo begun; sleep 600' }, 0);
    await operations.door.until(running, ({ state }) => state === 'running');

    const { failure, kept } = await operations.restore(id, snapshot.id);
    expect(failure).toBeNull();
    expect(kept).toMatchObject({ state: 'ready', reason: 'before-restore', parentId: snapshot.id, sandboxId: id });
    const after = await mayfly.record(id);
    expect(after).toMatchObject({ state: 'running', parentSnapshotId: snapshot.id, waitingFor: null, failure: null });
    expect(identity(after)).toEqual(identity(before));
    expect(await operations.read(id)).toBe('old');
    expect(await operations.door.ended(running)).toMatchObject({ outcome: 'interrupted' });

    expect(await operations.restore(id, kept?.id ?? '', { keep: false })).toEqual({ failure: null, kept: null });
    expect(await operations.read(id)).toBe('new');
    const told = await operations.told(id);
    expect(told.filter(({ kind }) => kind === 'sandbox.restored').map(({ detail }) => detail)).toMatchObject([
      { snapshotId: snapshot.id, keptAs: kept?.id },
      { snapshotId: kept?.id, keptAs: null },
    ]);
    expect(await mayfly.store.audit.verify(id)).toMatchObject({ ok: true });
  });

  sweep(['removeDomain', 'revertDisk', 'bootDomain', 'awaitIp', 'verifySsh'])(
    'a restore whose %s fails after its effect leaves the sandbox what it was',
    async (step, { mayfly, operations }) => {
      const { id, snapshot } = await changedSandbox(mayfly, operations);
      mayfly.arm(`${step}.after=1*error`, id);
      const { failure, kept } = await operations.restore(id, snapshot.id);
      expect(failure).toMatchObject({ step, code: 'fault_injected' });
      expect(await mayfly.record(id)).toMatchObject({ state: 'running', parentSnapshotId: kept?.id });
      expect(await operations.read(id)).toBe('new');
    },
  );

  test('what is cannot be kept: then nothing is done, and what runs runs on', async ({ mayfly, operations }) => {
    const { id, snapshot } = await changedSandbox(mayfly, operations);
    const running = await operations.door.run(id, { command: 'while true; do sleep 0.1; done' }, 0);
    await operations.door.until(running, ({ state }) => state === 'running');
    mayfly.arm('saveSnapshot.after=error', id);
    const { failure, kept } = await operations.restore(id, snapshot.id);
    expect(failure).toMatchObject({ step: 'saveSnapshot' });
    expect(kept).toMatchObject({ state: 'failed' });
    expect(await mayfly.record(id)).toMatchObject({ state: 'running', parentSnapshotId: snapshot.id });
    expect(await operations.read(id)).toBe('new');
    expect(await operations.door.get(running)).toMatchObject({ state: 'running' });
  });
});
