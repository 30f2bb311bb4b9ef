import { rm, stat } from 'node:fs/promises';
import { MayflyError } from '../../../model/errors.ts';
import { allEnded } from '../../all-ended.ts';
import { orAbsent } from '../../disk/absent.ts';
import { isBeingWritten } from '../../disk/image.ts';
import { flushFile } from '../../os/atomic-file.ts';
import type { StateDir } from '../../state-dir.ts';
import type { Domains } from '../client/domains.ts';
import type { Jobs } from '../client/jobs.ts';
import { type Virsh, VirshError } from '../client/virsh.ts';
import type { Freezer } from '../guest/freezer.ts';
import { isAgentSilent, isQuiesceRefused } from '../guest/guest-agent.ts';
import { driveTargets } from './disk-layers.ts';
import { type Move, snapshotCommand } from './disk-moves.ts';
import type { LostMoves } from './lost-moves.ts';
import type { Attempt, SnapshotFolder } from './snapshot-folder.ts';
import type { Thawing } from './thawing.ts';
import { Workspace } from './workspace.ts';

export interface MovingDeps {
  state: StateDir;
  virsh: Virsh;
  domains: Domains;
  jobs: Jobs;
  freezer: Freezer;
  thawing: Thawing;
  lostMoves: LostMoves;
}

/** Writing a large memory to a slow disk takes longest. Milliseconds. */
const SAVE_TIMEOUT_MS = 110_000;

/** Has all disks of a domain go over to their new layers at one moment, and knows whether they have. */
export class Moving {
  constructor(private readonly deps: MovingDeps) {}

  /**
   * Whether the disks have gone over: all of them have, or none. Asked when libvirt is at nothing any more: while it
   * saves memory it answers, and moves the disks afterwards. When libvirtd was killed between QEMU's deed and its own
   * note of it, the deed is taken back; the lock on a layer is QEMU's.
   */
  async hasMoved(sandboxId: string, moves: readonly Move[]): Promise<boolean> {
    const overlays = moves.map(({ overlay }) => overlay);
    const there = await Promise.all(overlays.map((overlay) => orAbsent(stat(overlay))));
    if (!there.some((file) => file !== null)) return false;
    const files = await this.deps.domains.diskFiles(sandboxId);
    if (files !== null && overlays.every((overlay) => files.includes(overlay))) return true;
    const left = overlays.filter((_, n) => there[n] !== null);
    if ((await Promise.all(left.map(isBeingWritten))).includes(true)) {
      await this.deps.lostMoves.takeBack(sandboxId, moves);
    }
    return false;
  }

  /** With the guest's file systems frozen, where it can. @throws MayflyError snapshot_failed, sandbox_not_running */
  async moveDisks(
    folder: SnapshotFolder,
    sandboxId: string,
    moves: readonly Move[],
    canQuiesce: boolean,
  ): Promise<void> {
    const attempt = { sandboxId, kind: 'disk', quiesce: false } as const;
    if (canQuiesce && (await this.moveAtOnce(folder, { ...attempt, quiesce: true, at: now() }, moves))) return;
    await this.checkOn(sandboxId);
    await this.moveAtOnce(folder, { ...attempt, at: now() }, moves);
  }

  /**
   * The processes are frozen, not the file systems: what is not on the disks yet is in the memory, or has been written.
   * @throws MayflyError snapshot_failed, snapshot_unsupported, sandbox_not_running
   */
  async moveWithMemory(
    folder: SnapshotFolder,
    sandboxId: string,
    moves: readonly Move[],
    answers: boolean,
  ): Promise<void> {
    if (!answers) {
      const why =
        (await this.checkOn(sandboxId)) === 'paused'
          ? 'it is paused: resume it first'
          : 'its QEMU guest agent does not answer';
      throw new MayflyError('snapshot_unsupported', `${sandboxId} cannot be saved with its memory: ${why}.`);
    }
    const attempt: Attempt = { sandboxId, kind: 'full', quiesce: false, at: now() };
    await rm(folder.memory, { force: true });
    await folder.writeAttempt(attempt);
    try {
      await this.deps.freezer.freeze(attempt);
    } catch (error) {
      if (error instanceof MayflyError && error.code === 'snapshot_unsupported') await folder.forgetAttempt();
      throw error;
    }
    await this.moveAtOnce(folder, attempt, moves);
    await allEnded(this.deps.freezer.thaw(attempt), flushFile(folder.memory)); // which verify would wait for
  }

  /**
   * Without a signal: a virsh that is killed leaves libvirtd at work, so it is let end.
   * @returns false when the guest can't quiesce, and nothing has happened
   */
  private async moveAtOnce(folder: SnapshotFolder, attempt: Attempt, moves: readonly Move[]): Promise<boolean> {
    const { sandboxId, kind, quiesce } = attempt;
    await folder.writeAttempt(attempt);
    const targets = driveTargets(await new Workspace(this.deps.state, sandboxId).domain());
    const memory = kind === 'full' ? folder.memory : null;
    try {
      await this.deps.virsh.run(snapshotCommand(sandboxId, targets, moves, { quiesce, memory }), {
        timeoutMs: SAVE_TIMEOUT_MS,
      });
      return true;
    } catch (error) {
      // libvirtd goes on with what a virsh that ran out of time had asked for
      if (kind === 'full') await this.deps.jobs.stopSnapshot(sandboxId);
      const hasMoved = await this.hasMoved(sandboxId, moves);
      await this.deps.thawing.thaw(attempt);
      if (hasMoved) return true;
      if (quiesce && isQuiesceRefused(error)) return false;
      if (!(error instanceof VirshError) && !isAgentSilent(error)) throw error;
      throw new MayflyError('snapshot_failed', `libvirt took no snapshot of ${sandboxId}: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  private async checkOn(sandboxId: string): Promise<'running' | 'paused'> {
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
