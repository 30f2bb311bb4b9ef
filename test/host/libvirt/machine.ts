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

/** Machine for one test file: its own libvirtd, networks, state and user CA, with the golden image as its source. */
export interface TestMachine {
  host: LibvirtHypervisor;
  virsh: Virsh;
  state: StateDir;
  source: string;
  /** Guests without a boot, for tests of other things. */
  booted: BootedGolden;
  ca: TestCa;
  uri: string;
  leaseFolder: string;
  /** Folder of its private libvirtd. */
  libvirtFolder: string;
  libvirtd: PrivateLibvirtd;
  /** Restarts the daemon after a stop without its machines. */
  restart(): Promise<void>;
  end(): Promise<void>;
}

/** Starts a machine. @throws Error where another one runs or has left residue, or outside a test run's namespace */
export async function startMachine(): Promise<TestMachine> {
  await proveCleanSlate();
  const folder = await mkdtemp(join(tmpdir(), 'mf-'));
  await chmod(folder, 0o711); // QEMU runs as another user
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
