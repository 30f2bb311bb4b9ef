import { createHash, randomBytes } from 'node:crypto';
import { constants, existsSync, readFileSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Mutex } from 'async-mutex';
import { setBackingFile } from '../../../host/disk/image.ts';
import type { Clone } from '../../../host/hypervisor.ts';
import { kvmUsable } from '../../../host/libvirt/client/accel.ts';
import { SnapshotFolder } from '../../../host/libvirt/layers/snapshot-folder.ts';
import { SEARCHABLE } from '../../../host/libvirt/layers/workspace.ts';
import { readSaveImage, rewriteSaveImage } from '../../../host/libvirt/memory/save-image.ts';
import { exec } from '../../../host/os/exec.ts';
import type { StepContext } from '../../../host/step-context.ts';
import { ID_BYTES, sandboxIdFrom, snapshotIdFrom } from '../../../model/ids.ts';
import type { SavedSnapshot } from '../../../model/snapshots/snapshot.ts';
import { buildOnce } from '../../../scripts/setup/cache.mjs';
import { cacheDir, goldenImage, imageCachePath, repository, sourceDigest } from '../../../worker/config/artifacts.mjs';
import type { TestMachine } from './machine.ts';

const SNAPSHOT = snapshotIdFrom(Buffer.alloc(ID_BYTES));
/** State folder in the paths of the saved files. */
const ROOT = 'root';
const FILES = ['vda.qcow2', 'memory.save', 'domain.xml', 'spec.json'];
/** Age at which an unused saved guest is deleted, ms; its sources are outdated. */
const FORGOTTEN_MS = 24 * 3_600_000;
const BUILD_MS = 240_000;

type Part = Pick<TestMachine, 'host' | 'state' | 'source' | 'ca'>;

const stepContext = (): StepContext => ({ signal: AbortSignal.timeout(BUILD_MS), alive: () => {} });

/**
 * Golden guest saved with its memory after boot and login: a wake takes a fifth of the time of a boot. Saved once in
 * the cache, under a name derived from its inputs; each machine has a copy with its own paths, visible only while a
 * guest is made of it.
 */
export class BootedGolden {
  readonly #alone = new Mutex();
  #isHere = false;

  constructor(private readonly machine: Part) {}

  /**
   * Wakes a sandbox of the source like a booted one: its disks refer to the source alone.
   * @throws Error when the guest does not wake
   */
  async wake(sandboxId: string, userCaKeys: string[]): Promise<Clone> {
    const { host, source } = this.machine;
    return await this.#whileThere(async (snapshotId) => {
      const request = { sandboxId, source, snapshotId, cpus: null, memoryMib: null, userCaKeys };
      const clone = await host.cloneDisk({ ...request, egress: 'none' }, stepContext());
      await host.bootDomain(sandboxId, stepContext());
      await host.snapshots.flatten(sandboxId, stepContext());
      return clone;
    });
  }

  /** Leaves the snapshot on the host, like any other. */
  async place(): Promise<{ id: string; sandboxId: string; saved: SavedSnapshot }> {
    await install(this.machine, await ensure(this.machine));
    const spec = await new SnapshotFolder(this.machine.state, SNAPSHOT).spec();
    if (!spec?.saved) throw new Error(`${SNAPSHOT} is not whole`);
    return { id: SNAPSHOT, sandboxId: spec.sandboxId, saved: spec.saved };
  }

  /** Calls `use` while the snapshot is visible on the host. */
  async #whileThere<T>(use: (snapshotId: string) => Promise<T>): Promise<T> {
    const { state } = this.machine;
    const [place, aside] = [state.snapshot(SNAPSHOT), join(state.root, 'booted')];
    return await this.#alone.runExclusive(async () => {
      if (this.#isHere) await rename(aside, place);
      else await install(this.machine, await ensure(this.machine));
      this.#isHere = true;
      try {
        return await use(SNAPSHOT);
      } finally {
        await rename(place, aside);
      }
    });
  }
}

/** Reports whether the cache has it. */
export async function isBootedSaved(): Promise<boolean> {
  return existsSync(join(await cachedFolder(), ROOT));
}

async function cachedFolder(): Promise<string> {
  return join(cacheDir(), 'booted', await nameOf());
}

/** @returns folder of {@link FILES} and {@link ROOT} */
async function ensure(machine: Part): Promise<string> {
  const target = await cachedFolder();
  const note = (text: string) => process.stderr.write(`booted guest: ${text}\n`);
  const signal = AbortSignal.timeout(BUILD_MS);
  const build = async (folder: string) => {
    note('saving it');
    await forgetOld(dirname(target));
    await save(machine, folder);
  };
  await buildOnce({ target, proof: ROOT, signal, note, build });
  await utimes(target, new Date(), new Date());
  return target;
}

/** Returns a name derived from all inputs of the guest's memory, and from this machine's ability to wake it. */
async function nameOf(): Promise<string> {
  const [{ stdout: qemu }, { stdout: libvirt }, kvm] = await Promise.all([
    exec('qemu-system-x86_64', ['--version']),
    exec('libvirtd', ['--version']),
    kvmUsable(),
  ]);
  const parts = [
    basename(imageCachePath('golden-debian12')),
    goldenImage()?.digest,
    sourceDigest(join(repository, 'host'), /^$/),
    readFileSync(fileURLToPath(import.meta.url), 'utf8'),
    [qemu, libvirt, kvm ? cpus()[0]?.model : 'emulated'],
  ];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);
}

async function forgetOld(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const { mtimeMs } = await stat(path);
    if (!name.startsWith('.') && Date.now() - mtimeMs > FORGOTTEN_MS) await rm(path, { recursive: true, force: true });
  }
}

async function save({ host, state, source, ca }: Part, folder: string): Promise<void> {
  const sandboxId = sandboxIdFrom(randomBytes(ID_BYTES));
  const request = { sandboxId, source, snapshotId: null, cpus: null, memoryMib: null, userCaKeys: [ca.publicKey] };
  const { hostKey } = await host.cloneDisk({ ...request, egress: 'none' }, stepContext());
  try {
    await host.bootDomain(sandboxId, stepContext());
    const { address } = await host.awaitLease(sandboxId, stepContext());
    await ca.ssh(address, hostKey, sandboxId, 'systemctl is-system-running --wait; sudo true; sync');
    await host.snapshots.save({ snapshotId: SNAPSHOT, sandboxId, kind: 'full' }, stepContext());
    await host.snapshots.verify(SNAPSHOT, stepContext());
    for (const name of FILES) await copyFile(join(state.snapshot(SNAPSHOT), name), join(folder, name));
    await writeFile(join(folder, ROOT), state.root);
  } finally {
    await host.removeDomain(sandboxId);
    await host.releaseLease(sandboxId);
    await host.removeWorkspace(sandboxId);
    await host.snapshots.remove(SNAPSHOT);
  }
}

/** Installs a copy with this machine's paths among its snapshots. */
async function install({ host, state }: Part, folder: string): Promise<void> {
  const root = await readFile(join(folder, ROOT), 'utf8');
  const moved = (text: string) => text.replaceAll(`${root}/`, `${state.root}/`);
  const copy = new SnapshotFolder(state, SNAPSHOT);
  await mkdir(copy.path, { mode: SEARCHABLE });
  for (const name of FILES) {
    await copyFile(join(folder, name), join(copy.path, name), constants.COPYFILE_FICLONE);
    await chmod(join(copy.path, name), 0o600);
  }
  const { xml } = await readSaveImage(copy.memory);
  await rewriteSaveImage(copy.memory, moved(xml));
  await writeFile(join(copy.path, 'domain.xml'), moved(await readFile(join(copy.path, 'domain.xml'), 'utf8')));
  await writeFile(join(copy.path, 'spec.json'), moved(await readFile(join(copy.path, 'spec.json'), 'utf8')));
  const spec = await copy.spec();
  const [base] = spec?.bases ?? [];
  if (!spec || !base) throw new Error(`${folder} is not whole: remove it`);
  await setBackingFile(copy.layerOf('vda'), { path: base.path, format: 'qcow2' });
  await copy.writeSpec({ ...spec, saved: null, memorySha256: null });
  await host.snapshots.verify(SNAPSHOT, stepContext());
}
