import { describe, expect } from 'vitest';
import type { SandboxRecord } from '../../../model/sandbox/sandbox.ts';
import { changedSandbox } from '../../support/changed-sandbox.ts';
import { useSagaCases } from '../../support/saga-cases.ts';

/**
 * Each step of the sagas that are tested in memory, once with real processes, files and logins. The tests of each saga
 * cover the other fault points.
 */
const { test } = useSagaCases();

function identity({ id, spec, macAddress, ssh }: SandboxRecord): object {
  return { id, spec, macAddress, ssh };
}

describe.concurrent('on processes', () => {
  test('a sandbox is restored back and forth, and keeps its identity', async ({ mayfly, operations }) => {
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

  test('a restore whose safety snapshot fails changes and stops nothing', async ({ mayfly, operations }) => {
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
