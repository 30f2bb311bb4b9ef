import { Semaphore } from 'async-mutex';
import { expect, test } from 'vitest';
import { Booting, type BootingDeps } from '../../../host/libvirt/booting.ts';
import { Workspace } from '../../../host/libvirt/layers/workspace.ts';
import { sandboxId } from '../../store/support.ts';
import { temporaryState } from '../temporary-state.ts';

// Promise: a sandbox that is to end does not wait until others have woken. Costs nothing.
test('who waits for a turn to wake, and is told to stop, stops at once, and its turn is the next one’s', async () => {
  const { state, remove } = await temporaryState();
  try {
    const id = sandboxId(1);
    const workspace = new Workspace(state, id);
    await workspace.make();
    const request = {
      sandboxId: id,
      source: 's',
      snapshotId: null,
      cpus: null,
      memoryMib: null,
      egress: 'none',
      userCaKeys: [],
    } as const;
    const boot = { way: 'template', why: null, templateId: 'snp-x', ageSeconds: 1 } as const;
    const spec = {
      request: { ...request, userCaKeys: [] },
      clone: { hostKey: '', macAddress: '', user: '' },
      bases: [],
      snapshots: [],
      restoreId: null,
    };
    await workspace.finish({ ...spec, wakesFrom: 'snp-x', boot }, '<domain/>');
    const turns = new Semaphore(1);
    const [, release] = await turns.acquire();
    const idle = { stop: async () => {}, sync: async () => {} };
    const deps = { state, flattening: idle, filter: idle } as unknown as BootingDeps;
    const ending = new AbortController();
    const booting = new Booting(deps, turns).boot(id, { signal: ending.signal, alive: () => {} });
    const failed = expect(booting).rejects.toThrow('it shall end');
    ending.abort(new Error('it shall end'));
    await failed;
    release();
    await turns.runExclusive(async () => {});
  } finally {
    await remove();
  }
});
