import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Failpoints } from '../../../host/failpoints.ts';
import { Virsh } from '../../../host/libvirt/client/virsh.ts';
import { exec } from '../../../host/os/exec.ts';
import { domainUuid } from '../../../model/ids.ts';
import { Closers } from '../../../worker/config/closers.ts';
import { type Config, readConfig } from '../../../worker/config/config.ts';
import { openHostMachine } from '../../../worker/machine/host-machine.ts';
import { findResidue, removeResidue } from '../../../worker/upkeep/residue.ts';
import { findSavedResidue, removeSavedResidue } from '../../../worker/upkeep/saved-residue.ts';
import { sandboxId, snapshotId } from '../../store/support.ts';
import { proveCleanSlate } from '../../support/clean-slate.ts';
import { processesOf } from '../../support/mayfly-process.ts';
import { startStoreServer } from '../../support/store-server.ts';

const ID = sandboxId(1);
const DOMAIN = `<domain type="qemu"><name>${ID}</name><uuid>${domainUuid(ID)}</uuid><memory>65536</memory>
  <os><type arch="x86_64">hvm</type></os></domain>`;

const OTHER = sandboxId(2);
const FOREIGN = `<domain type="qemu"><name>${OTHER}</name><uuid>${domainUuid(OTHER)}</uuid><memory>65536</memory>
  <os><type arch="x86_64">hvm</type></os><devices><disk type="file" device="disk"><source file="/elsewhere/${OTHER}/disk.qcow2"/>
  <target dev="vda" bus="virtio"/></disk></devices></domain>`;

const closers = new Closers();
let config: Config;

beforeAll(async () => {
  await proveCleanSlate();
  const root = await mkdtemp(join(tmpdir(), 'mf-'));
  await chmod(root, 0o711); // QEMU is another user
  closers.add('state folder', () => rm(root, { recursive: true, force: true }));
  const store = await startStoreServer();
  closers.add('store', () => store.stop());
  const env = { MAYFLY_STATE_DIR: root, MAYFLY_LIBVIRT_URI: 'private', MONGODB_URI: store.uri };
  config = readConfig(env);
});
afterAll(() => closers.close());

/** Returns the traces of a private libvirtd on the machine, besides files. */
async function traces() {
  const [rules, links] = await Promise.all([
    exec('nft', ['list', 'tables']),
    exec('ip', ['-oneline', 'link', 'show', 'type', 'bridge']),
  ]);
  const bridges = [...links.stdout.matchAll(/: (mayfly\d)[:@]/g)].map(([, name]) => name);
  return { rules: rules.stdout.includes('mayfly_'), bridges, processes: processesOf(config.stateDir) };
}

it('a private libvirtd leaves files only; their residue is found without it, and removed', async () => {
  const machine = await openHostMachine(config, Failpoints.parse(undefined));
  try {
    expect(machine.isNew).toBe(true);
    expect(await traces()).toMatchObject({ rules: true, bridges: ['mayfly0', 'mayfly1'] });
    const file = join(config.stateDir, 'domain.xml');
    await writeFile(file, DOMAIN);
    await new Virsh(machine.hypervisor.uri ?? '').run(['define', file]);
    expect(await findResidue(config)).toMatchObject([{ sandboxId: ID, observation: { layer: 'domain' } }]);
    // Has the name and UUID of a sandbox of ours, but its disk is in another installation's folder.
    await writeFile(file, FOREIGN);
    await new Virsh(machine.hypervisor.uri ?? '').run(['define', file]);
    expect((await machine.hypervisor.marks()).map(({ sandboxId: id }) => id)).toEqual([ID]);
    await new Virsh(machine.hypervisor.uri ?? '').run(['undefine', OTHER]);
  } finally {
    machine.endOnClose();
    await machine.close();
  }
  const nothing = { rules: false, bridges: [], processes: [] };
  expect(await traces()).toEqual(nothing);

  expect(await findResidue(config)).toMatchObject([{ sandboxId: ID, observation: { layer: 'domain' } }]);
  expect(await traces()).toEqual(nothing);

  await removeResidue(config, [ID]);
  expect(await findResidue(config)).toEqual([]);
  expect(await traces()).toEqual(nothing);
});

it('partial or unreferenced snapshots are found without a libvirtd, and removed', async () => {
  const snapshots = join(config.stateDir, 'snapshots');
  const [half, kept] = [snapshotId(1), snapshotId(2)];
  for (const id of [half, kept]) await mkdir(join(snapshots, id), { recursive: true });
  await writeFile(join(snapshots, kept, 'removed.json'), JSON.stringify({ at: new Date(0).toISOString() }));
  const nothing = { rules: false, bridges: [], processes: [] };
  expect(await findSavedResidue(config, 'snapshots')).toEqual([
    { id: half, state: 'half', recorded: null, isSafe: true },
    { id: kept, state: 'kept', recorded: null, isSafe: true },
  ]);
  expect(await traces()).toEqual(nothing);
  await removeSavedResidue(config, 'snapshots');
  expect(await readdir(snapshots)).toEqual([]);
  expect(await traces()).toEqual(nothing);
});
