import { execFile } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findPrivateLibvirtd, startPrivateLibvirtd } from '../../host/libvirt/network/private-libvirtd.ts';
import { sendSignal } from '../../host/os/proc.ts';
import { connectStore } from '../../store/connect.ts';
import { addBootedSnapshot } from '../support/booted-snapshot.ts';
import { Agreement } from './agreement.ts';
import type { HostKind } from './cells.ts';
import { linkOf, pids } from './census/proc.ts';
import { CrashInstallation } from './installation.ts';
import { Stage } from './stage.ts';

const run = promisify(execFile);

/** Holds a dozen trees, and is quick to fill. */
export const SMALL_DISK = 'size=384m,mode=711';

/** Allows webhooks to the receiver in this process. */
const HEARS_WEBHOOKS = { MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8' };

/** Running installation with its checker. */
export interface Standing {
  stage: Stage;
  agreement: Agreement;
  /** Ends everything, machines too, and removes its files. */
  end(): Promise<void>;
}

/** Starts an installation in this process's namespaces. @param disk mount options of the host's tmpfs; null: none */
export async function standUp(root: string, kind: HostKind, disk: string | null): Promise<Standing> {
  const hostDir = join(root, 'host');
  await mkdir(hostDir, { recursive: true, mode: 0o711 });
  const isMounted = kind === 'simulated' && disk !== null;
  if (isMounted) await run('mount', ['-t', 'tmpfs', '-o', disk, 'tmpfs', hostDir]);
  const mayfly = new CrashInstallation({ root, hostKind: kind, env: HEARS_WEBHOOKS });
  const stop = async () => {
    await mayfly.stop();
    await endMachines(hostDir, kind);
    if (isMounted) await run('umount', ['--lazy', hostDir]);
    await rm(root, { recursive: true, force: true });
  };
  try {
    await mayfly.start();
    const libvirtUri = kind === 'libvirt' ? ((await findPrivateLibvirtd(join(hostDir, 'libvirt')))?.uri ?? null) : null;
    const stage = new Stage(mayfly, kind === 'simulated' ? { source: 'golden-debian12' } : await booted(mayfly));
    const agreement = await Agreement.open(mayfly, [{ stateDir: hostDir, libvirtUri }], ownOf(stage));
    const end = async () => {
      await agreement.close();
      await stop();
    };
    return { stage, agreement, end };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Returns ids that stay from one cell to the next. */
function ownOf({ made }: Stage): string[] {
  return 'snapshotId' in made ? [made.snapshotId] : [];
}

/** Creates the snapshot that sandboxes wake from: a boot takes most of a minute without KVM. */
async function booted(mayfly: CrashInstallation): Promise<{ snapshotId: string }> {
  const store = await connectStore(mayfly.storeUri);
  try {
    const where = { hostId: mayfly.hostId(), stateDir: mayfly.hostDir() };
    return { snapshotId: await addBootedSnapshot({ ...where, snapshots: store.snapshots }) };
  } finally {
    await store.close();
  }
}

async function endMachines(hostDir: string, kind: HostKind): Promise<void> {
  if (kind === 'libvirt') {
    const libvirtd = await startPrivateLibvirtd(join(hostDir, 'libvirt'));
    await libvirtd.stop({ machines: true });
    return;
  }
  for (const pid of pids()) if (linkOf(pid, 'root').startsWith(`${hostDir}/`)) sendSignal(Number(pid), 'SIGKILL');
}
