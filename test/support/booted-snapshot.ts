import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readInstallation } from '../../host/installation.ts';
import { LibvirtHypervisor } from '../../host/libvirt/driver.ts';
import { findPrivateLibvirtd, leaseFolderOf } from '../../host/libvirt/network/private-libvirtd.ts';
import { StateDir } from '../../host/state-dir.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import type { Store } from '../../store/connect.ts';
import { goldenImage } from '../../worker/config/artifacts.mjs';
import { BootedGolden } from '../host/libvirt/booted-golden.ts';
import { TestCa } from '../host/libvirt/guest.ts';

/** Host worker with a running private libvirtd. */
interface Host {
  hostId: string;
  stateDir: string;
  snapshots: Store['snapshots'];
}

/** Adds a snapshot with memory of a booted golden guest; its restore takes a fifth of a boot. @returns its id */
export async function addBootedSnapshot({ hostId, stateDir, snapshots }: Host): Promise<string> {
  const folder = join(stateDir, 'libvirt');
  const libvirtd = await findPrivateLibvirtd(folder);
  const source = goldenImage()?.name;
  if (!libvirtd || source === undefined) throw new Error(`no libvirtd runs in ${folder}, or there is no golden image`);
  const state = new StateDir(stateDir);
  const host = new LibvirtHypervisor({ uri: libvirtd.uri, state, leaseFolder: leaseFolderOf(folder) });
  await host.open();
  const keys = await mkdtemp(join(process.env['MAYFLY_TEST_ROOT'] ?? tmpdir(), 'keys-'));
  try {
    const booted = new BootedGolden({ host, state, source, ca: await TestCa.make(keys) });
    const { id, sandboxId, saved } = await booted.place();
    const { savedAt } = saved;
    const installation = await readInstallation(state);
    if (!installation) throw new Error(`${stateDir} has no installation`);
    const on = { hostId, installationId: installation.id };
    const whose = { id, sandboxId, ...on, source, createdBy: { apiKeyId: 'test', agentId: null, project: 'default' } };
    const is = { name: 'booted', kind: 'full', state: 'ready', reason: 'requested' } as const;
    const rest = {
      project: 'default',
      parentId: null,
      network: { egress: 'none' as const },
      createdAt: savedAt,
      readyAt: savedAt,
      saved,
      failure: null,
      keptFor: null,
    };
    const record: SnapshotRecord = { ...whose, ...is, ...rest };
    await snapshots.create(record);
    return id;
  } finally {
    await rm(keys, { recursive: true });
  }
}
