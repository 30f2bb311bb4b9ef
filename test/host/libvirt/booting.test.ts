import { Semaphore } from 'async-mutex';
import { expect, test } from 'vitest';
import { Booting, type BootingTools } from '../../../host/libvirt/booting.ts';
import { Workspace } from '../../../host/libvirt/layers/workspace.ts';
import { MayflyError } from '../../../model/errors.ts';
import { sandboxId } from '../../store/support.ts';
import { useFreshState } from '../../support/use-folder.ts';

const ID = sandboxId(1);
const TEMPLATE = 'snp-x';
const idle = { stop: async () => {}, sync: async () => {} };
const state = useFreshState();

/** Makes a sandbox of a template, about to wake. @param wakesFrom id of the snapshot */
async function cloned(wakesFrom: string): Promise<void> {
  const workspace = new Workspace(state, ID);
  await workspace.make();
  const of = { source: 's', snapshotId: null, cpus: null, memoryMib: null, egress: 'none' as const, userCaKeys: [] };
  const boot = { way: 'template', why: null, templateId: TEMPLATE, ageSeconds: 1 } as const;
  const clone = { hostKey: '', macAddress: '', user: '' };
  const spec = { request: { sandboxId: ID, ...of }, clone, bases: [], snapshots: [], restoreId: null };
  await workspace.finish({ ...spec, wakesFrom, boot }, '<domain/>');
}

function booting(turns: Semaphore, others: object = {}): Booting {
  return new Booting({ state, flattening: idle, filter: idle, ...others } as unknown as BootingTools, turns);
}

test('a wake that is cancelled while queued stops at once, and frees its turn', async () => {
  await cloned(TEMPLATE);
  const turns = new Semaphore(1);
  const [, release] = await turns.acquire();
  const ending = new AbortController();
  const booted = booting(turns).boot(ID, { signal: ending.signal, alive: () => {} });
  const failed = expect(booted).rejects.toThrow('it shall end');
  ending.abort(new Error('it shall end'));
  await failed;
  release();
  await turns.runExclusive(async () => {});
});

test('a sandbox of a template whose restored snapshot does not wake fails, and keeps its disks', async () => {
  await cloned('snp-restored');
  const waking = { wake: () => Promise.reject(new MayflyError('boot_failed', 'its agent is mute')) };
  const before = await new Workspace(state, ID).spec();
  const booted = booting(new Semaphore(1), { waking }).boot(ID, {
    signal: new AbortController().signal,
    alive: () => {},
  });
  await expect(booted).rejects.toMatchObject({ code: 'boot_failed', message: 'its agent is mute' });
  expect(await new Workspace(state, ID).spec()).toEqual(before);
});
