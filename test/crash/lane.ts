/**
 * One installation in a network and mount namespace of its own, in which one cell after another is tried. Started by
 * lanes.ts, which tells it the cells and is told the results. After a red cell it begins anew, so that no cell pays for another.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findPrivateLibvirtd, startPrivateLibvirtd } from '../../host/libvirt/network/private-libvirtd.ts';
import { connectStore } from '../../store/connect.ts';
import { addBootedSnapshot } from '../support/booted-snapshot.ts';
import { Stage } from './acts.ts';
import { Agreement } from './agreement.ts';
import { type CellResult, runCell } from './cell-run.ts';
import type { Cell, HostKind } from './cells.ts';
import { CrashInstallation } from './installation.ts';

const run = promisify(execFile);

export interface LaneOrder {
  cell: Cell;
  seed: string;
}
export interface LaneSettings {
  root: string;
  kind: HostKind;
}

/** Enough for a dozen trees, and quick to fill. */
const DISK = 'size=384m,mode=711';

interface Standing {
  stage: Stage;
  agreement: Agreement;
  end(): Promise<void>;
}

class Lane {
  #standing: Standing | null = null;
  #nth = 0;

  constructor(private readonly settings: LaneSettings) {}

  async try({ cell, seed }: LaneOrder): Promise<CellResult> {
    this.#standing ??= await this.#begin();
    const { stage, agreement } = this.#standing;
    const result = await runCell(stage, agreement, cell, seed);
    if (result.verdict !== 'red') return result;
    const told = stage.mayfly.told();
    await this.end();
    return { ...result, why: `${result.why}\n${told}` };
  }

  async end(): Promise<void> {
    const standing = this.#standing;
    this.#standing = null;
    await standing?.end();
  }

  async #begin(): Promise<Standing> {
    const { kind } = this.settings;
    const root = join(this.settings.root, String(this.#nth++));
    const hostDir = join(root, 'host');
    await mkdir(hostDir, { recursive: true, mode: 0o711 });
    if (kind === 'simulated') await run('mount', ['-t', 'tmpfs', '-o', DISK, 'tmpfs', hostDir]);
    const mayfly = new CrashInstallation({ root, hostKind: kind });
    try {
      return await this.#standOn(mayfly, hostDir);
    } catch (error) {
      await mayfly.stop();
      throw error;
    }
  }

  async #standOn(mayfly: CrashInstallation, hostDir: string): Promise<Standing> {
    const { kind } = this.settings;
    await mayfly.start();
    const libvirtUri = kind === 'libvirt' ? ((await findPrivateLibvirtd(join(hostDir, 'libvirt')))?.uri ?? null) : null;
    const agreement = await Agreement.open(mayfly, [{ stateDir: hostDir, libvirtUri }]);
    const stage = new Stage(mayfly, kind === 'simulated' ? { source: 'golden-debian12' } : await booted(mayfly));
    const end = async () => {
      await agreement.close();
      await mayfly.stop();
      await endMachines(hostDir, kind);
      if (kind === 'simulated') await run('umount', ['--lazy', hostDir]);
      await rm(mayfly.options.root, { recursive: true, force: true });
    };
    return { stage, agreement, end };
  }
}

/** A boot takes most of a minute where there is no KVM: sandboxes wake from a snapshot of one instead. */
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
  const { pids, linkOf } = await import('./census/proc.ts');
  for (const pid of pids()) if (linkOf(pid, 'root').startsWith(`${hostDir}/`)) process.kill(Number(pid), 'SIGKILL');
}

const lane = new Lane(JSON.parse(process.argv[2] ?? '') as LaneSettings);
let work: Promise<void> = Promise.resolve();
process.on('message', (order: LaneOrder) => {
  work = work.then(async () => {
    const result = await lane.try(order).catch((error: unknown): CellResult => {
      const why = `the harness failed: ${error instanceof Error ? error.stack : String(error)}`;
      return { cell: '', verdict: 'red', outcome: '', why, seed: order.seed, seconds: 0 };
    });
    process.send?.(result);
  });
});
process.on('disconnect', () => {
  void work.then(() => lane.end()).finally(() => process.exit());
});
