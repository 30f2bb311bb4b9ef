import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Virsh } from '../../../host/libvirt/client/virsh.ts';
import { LibvirtHypervisor } from '../../../host/libvirt/driver.ts';
import { registerGolden } from '../../../host/libvirt/golden.ts';
import { type PrivateLibvirtd, startPrivateLibvirtd } from '../../../host/libvirt/network/private-libvirtd.ts';
import { StateDir } from '../../../host/state-dir.ts';
import { diffBinary, goldenImage } from '../../../worker/config/artifacts.mjs';
import { proveCleanSlate } from '../../support/clean-slate.ts';
import { BootedGolden } from './booted-golden.ts';
import { TestCa } from './guest.ts';

/** A machine for one test file: its own libvirtd, networks, state and user CA, and the golden image as its source. */
export interface TestMachine {
  host: LibvirtHypervisor;
  virsh: Virsh;
  state: StateDir;
  source: string;
  /** For what is not about booting. */
  booted: BootedGolden;
  ca: TestCa;
  uri: string;
  leaseFolder: string;
  /** Of its private libvirtd. */
  libvirtFolder: string;
  libvirtd: PrivateLibvirtd;
  /** Starts the daemon again after it was stopped without its machines. */
  restart(): Promise<void>;
  end(): Promise<void>;
}

/** @throws Error where another machine is, or was and has left something; outside the namespace of a test run */
export async function startMachine(): Promise<TestMachine> {
  await proveCleanSlate();
  const folder = await mkdtemp(join(tmpdir(), 'mf-'));
  await chmod(folder, 0o711); // QEMU is another user
  const libvirtFolder = join(folder, 'libvirt');
  const libvirtd = await startPrivateLibvirtd(libvirtFolder);
  const end = async () => {
    await libvirtd.stop({ machines: true });
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const state = new StateDir(join(folder, 'state'));
    const { uri, leaseFolder } = libvirtd;
    const host = new LibvirtHypervisor({ uri, state, leaseFolder, diffProgram: diffFile() });
    await host.open();
    const virsh = new Virsh(libvirtd.uri);
    const source = await registerGolden(virsh, state, goldenFolder());
    const keys = join(folder, 'keys');
    await mkdir(keys, { mode: 0o700 });
    const ca = await TestCa.make(keys);
    const restart = async () => {
      await startPrivateLibvirtd(libvirtFolder);
    };
    const booted = new BootedGolden({ host, state, source, ca });
    return { host, virsh, state, source, booted, ca, uri, leaseFolder, libvirtFolder, libvirtd, restart, end };
  } catch (error) {
    await end();
    throw error;
  }
}

function goldenFolder(): string {
  const image = goldenImage();
  if (!image)
    throw new Error('No golden image of the present sources: run `node scripts/setup.mjs --only guest,image`.');
  return image.dir;
}

function diffFile(): string {
  const program = diffBinary();
  if (program === null) throw new Error('mayfly-diff is not built: run `node scripts/setup.mjs --only diff`.');
  return program;
}
