import { rm, stat } from 'node:fs/promises';
import { isMayflyError, MayflyError } from '../../../model/errors.ts';
import { isBeingWritten } from '../../disk/image.ts';
import { allSettledOrThrow } from '../../os/abort.ts';
import { orAbsent } from '../../os/absent.ts';
import { flush } from '../../os/atomic-file.ts';
import { VirshError } from '../client/virsh.ts';
import { Freezer } from '../guest/freezer.ts';
import { isAgentSilent, isQuiesceRefused } from '../guest/guest-agent.ts';
import { driveTargets } from '../layers/disk-layers.ts';
import { OrphanedSwitches } from '../layers/orphaned-switches.ts';
import type { Attempt, SnapshotFolder } from '../layers/snapshot-folder.ts';
import { type SwitchedDisk, snapshotCommand } from '../layers/switched-disks.ts';
import { Workspace } from '../layers/workspace.ts';
import type { LibvirtTools } from '../tools/tools.ts';
import type { Thaw } from './unquiescing.ts';

/** Timeout of a save; writing a large memory to a slow disk takes longest. Milliseconds. */
const SAVE_TIMEOUT_MS = 110_000;

/** Switches all disks of a domain to new layers at one moment, and detects whether that has happened. */
export class DiskSwitch {
  readonly #freezer: Freezer;
  readonly #orphaned: OrphanedSwitches;

  constructor(
    private readonly deps: LibvirtTools,
    private readonly unquiescing: Thaw,
  ) {
    this.#freezer = new Freezer(deps.virsh, deps.domains);
    this.#orphaned = new OrphanedSwitches(deps.virsh, deps.monitor);
  }

  /**
   * Reports whether the disks were switched, all or none. Call it without a running libvirt job: while libvirt saves
   * memory it answers, and switches the disks afterwards. A switch that QEMU made and a killed libvirtd did not record
   * is reverted; QEMU's lock on a layer shows it.
   */
  async hasSwitched(sandboxId: string, switched: readonly SwitchedDisk[]): Promise<boolean> {
    const overlays = switched.map(({ overlay }) => overlay);
    const there = await Promise.all(overlays.map((overlay) => orAbsent(stat(overlay))));
    if (!there.some((file) => file !== null)) return false;
    const files = await this.deps.domains.diskFiles(sandboxId);
    if (files !== null && overlays.every((overlay) => files.includes(overlay))) return true;
    const left = overlays.filter((_, n) => there[n] !== null);
    if ((await Promise.all(left.map(isBeingWritten))).includes(true)) {
      await this.#orphaned.takeBack(sandboxId, switched);
    }
    return false;
  }

  /** Switches with frozen file systems, where possible. @throws MayflyError snapshot_failed, sandbox_not_running */
  async switchDisks(
    folder: SnapshotFolder,
    sandboxId: string,
    switched: readonly SwitchedDisk[],
    canQuiesce: boolean,
  ): Promise<void> {
    const attempt = { sandboxId, kind: 'disk', quiesce: false } as const;
    if (canQuiesce && (await this.#switchAtOnce(folder, { ...attempt, quiesce: true, at: now() }, switched))) return;
    await this.#assertOn(sandboxId);
    await this.#switchAtOnce(folder, { ...attempt, at: now() }, switched);
  }

  /**
   * Saves with the processes frozen, not the file systems: unwritten data is part of the memory.
   * @throws MayflyError snapshot_failed, snapshot_unsupported, sandbox_not_running
   */
  async switchWithMemory(
    folder: SnapshotFolder,
    sandboxId: string,
    switched: readonly SwitchedDisk[],
    answers: boolean,
  ): Promise<void> {
    if (!answers) {
      const why =
        (await this.#assertOn(sandboxId)) === 'paused'
          ? 'it is paused: resume it first'
          : 'its QEMU guest agent does not answer';
      throw new MayflyError('snapshot_unsupported', `${sandboxId} cannot be saved with its memory: ${why}.`);
    }
    const attempt: Attempt = { sandboxId, kind: 'full', quiesce: false, at: now() };
    await rm(folder.memory, { force: true });
    await folder.writeAttempt(attempt);
    try {
      await this.#freezer.freeze(attempt);
    } catch (error) {
      if (isMayflyError(error, 'snapshot_unsupported')) await folder.forgetAttempt();
      throw error;
    }
    await this.#switchAtOnce(folder, attempt, switched);
    await allSettledOrThrow(this.#freezer.thaw(attempt), flush(folder.memory)); // so that verify need not wait for it
  }

  /**
   * Runs without a signal, to the end: killing virsh does not stop libvirtd.
   * @returns false when the guest can't quiesce, and nothing has happened
   */
  async #switchAtOnce(folder: SnapshotFolder, attempt: Attempt, switched: readonly SwitchedDisk[]): Promise<boolean> {
    const { sandboxId, kind, quiesce } = attempt;
    await folder.writeAttempt(attempt);
    const targets = driveTargets(await new Workspace(this.deps.state, sandboxId).domain());
    const memory = kind === 'full' ? folder.memory : null;
    try {
      await this.deps.virsh.run(snapshotCommand(sandboxId, targets, switched, { quiesce, memory }), {
        timeoutMs: SAVE_TIMEOUT_MS,
      });
      return true;
    } catch (error) {
      // libvirtd continues the request of a virsh that timed out
      if (kind === 'full') await this.deps.jobs.stopSnapshot(sandboxId);
      const hasSwitched = await this.hasSwitched(sandboxId, switched);
      await this.unquiescing.thaw(attempt);
      if (hasSwitched) return true;
      if (quiesce && isQuiesceRefused(error)) return false;
      if (!(error instanceof VirshError) && !isAgentSilent(error)) throw error;
      throw new MayflyError('snapshot_failed', `libvirt took no snapshot of ${sandboxId}: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  async #assertOn(sandboxId: string): Promise<'running' | 'paused'> {
    const state = (await this.deps.domains.describe(sandboxId))?.state ?? 'not there';
    if (state === 'running' || state === 'paused') return state;
    throw new MayflyError('sandbox_not_running', `${sandboxId} cannot be saved: it is ${state}.`);
  }
}

function now(): string {
  return new Date().toISOString();
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
