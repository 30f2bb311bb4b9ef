import { stat } from 'node:fs/promises';
import { MayflyError } from '../../model/errors.ts';
import { CHAIN_LIMIT } from '../../model/snapshot.ts';
import { orAbsent } from '../disk/absent.ts';
import { isBeingWritten } from '../disk/image.ts';
import { ensureOverlay } from '../disk/overlay.ts';
import type { StepContext } from '../hypervisor.ts';
import type { SaveRequest } from '../snapshots.ts';
import type { StateDir } from '../state-dir.ts';
import { driveTargets, layeredDisks, putLayers } from './disk-layers.ts';
import type { Domains } from './domains.ts';
import type { Flattening } from './flattening.ts';
import { type GuestAgent, isAgentSilent, isQuiesceRefused } from './guest-agent.ts';
import { SnapshotFolder } from './snapshot-folder.ts';
import { type Virsh, VirshError } from './virsh.ts';
import { Workspace } from './workspace.ts';
import { child, type Element, textOf } from './xml.ts';

export interface SavingDeps {
  state: StateDir;
  virsh: Virsh;
  domains: Domains;
  agent: GuestAgent;
  flattening: Flattening;
}

/** A disk that goes over from its present layer, by then the snapshot's, to an empty one. */
interface Move {
  target: string;
  frozen: string;
  overlay: string;
}

/**
 * Saves the disks of a domain that runs or is paused: the layers that it writes to get a second name in the snapshot's
 * folder, all disks go over to new layers at one moment, and the old names in the workspace go.
 * docs/decisions/0018-snapshots.md says what a crash leaves at each point.
 */
export class Saving {
  constructor(private readonly deps: SavingDeps) {}

  /** @throws MayflyError snapshot_failed, sandbox_not_running, snapshot_unsupported */
  async save({ snapshotId, sandboxId, kind }: SaveRequest, context: StepContext): Promise<void> {
    if (kind !== 'disk') {
      throw new MayflyError('snapshot_unsupported', 'The memory of a sandbox cannot be saved on this host yet.');
    }
    const folder = new SnapshotFolder(this.deps.state, snapshotId);
    if ((await folder.spec()) !== null) return;
    const frozen = (await folder.domain()) ?? (await this.describe(folder, sandboxId, context));
    const moves = this.moves(folder, sandboxId, frozen);
    if (await this.hasMoved(sandboxId, moves)) {
      if ((await folder.attempt())?.quiesce) await this.deps.agent.thaw(sandboxId);
    } else {
      await this.move(folder, sandboxId, moves, context.signal);
    }
    await this.settle(folder, sandboxId, frozen);
  }

  /**
   * Ends a save that did not end by itself: either nothing of it is left, or its snapshot is whole, because the sandbox
   * writes to the new layers by now and needs the ones below.
   */
  async takeBack(folder: SnapshotFolder): Promise<void> {
    const frozen = await folder.domain();
    if (frozen === null) return await folder.drop();
    const sandboxId = textOf(child(frozen, 'name'));
    if ((await folder.attempt())?.quiesce) await this.deps.agent.thaw(sandboxId);
    const workspace = new Workspace(this.deps.state, sandboxId);
    const spec = await workspace.spec();
    if (spec !== null && (await this.hasMoved(sandboxId, this.moves(folder, sandboxId, frozen)))) {
      return await this.settle(folder, sandboxId, frozen);
    }
    if (spec !== null) await workspace.change(spec, await workspace.domain());
    await folder.drop();
  }

  /** libvirt saves no disk that is being flattened, and none that leans on too many files. */
  private async boundChain(sandboxId: string, context: StepContext): Promise<void> {
    const { flattening, state } = this.deps;
    await flattening.stop(sandboxId);
    const leantOn = (await new Workspace(state, sandboxId).spec())?.snapshots.length ?? 0;
    if (leantOn >= CHAIN_LIMIT) await flattening.flatten(sandboxId, context);
  }

  /** Writes down the machine that is to be saved, with the layers to be frozen under their new names. */
  private async describe(folder: SnapshotFolder, sandboxId: string, context: StepContext): Promise<Element> {
    await this.boundChain(sandboxId, context);
    const workspace = new Workspace(this.deps.state, sandboxId);
    if ((await workspace.spec()) === null) {
      throw new MayflyError('sandbox_not_running', `${sandboxId} is not on this host.`);
    }
    const domain = await workspace.domain();
    for (const { target, writable, layers } of layeredDisks(domain)) {
      const [active, ...below] = layers;
      const [base, ...rest] = below;
      if (writable) putLayers(domain, target, [{ path: folder.layerOf(target), format: active.format }, ...below]);
      else if (base) putLayers(domain, target, [base, ...rest]); // its overlay is empty, and goes with the sandbox
    }
    await folder.make();
    await folder.writeDomain(domain);
    return domain;
  }

  private moves(folder: SnapshotFolder, sandboxId: string, frozen: Element): Move[] {
    const workspace = new Workspace(this.deps.state, sandboxId);
    return layeredDisks(frozen)
      .filter(({ writable }) => writable)
      .map(({ target, layers: [layer] }) => ({
        target,
        frozen: layer.path,
        overlay: workspace.overlayOf(target, folder.snapshotId),
      }));
  }

  /**
   * Whether the disks have gone over: all of them have, or none. libvirt's word may be older than QEMU's deed when
   * libvirtd was killed in between; the lock on a layer is QEMU's.
   */
  private async hasMoved(sandboxId: string, moves: readonly Move[]): Promise<boolean> {
    const overlays = moves.map(({ overlay }) => overlay);
    const there = await Promise.all(overlays.map((overlay) => orAbsent(stat(overlay))));
    if (there.includes(null)) return false;
    const files = await this.deps.domains.diskFiles(sandboxId);
    if (files !== null && overlays.every((overlay) => files.includes(overlay))) return true;
    return (await Promise.all(overlays.map(isBeingWritten))).includes(true);
  }

  private async move(
    folder: SnapshotFolder,
    sandboxId: string,
    moves: readonly Move[],
    signal: AbortSignal,
  ): Promise<void> {
    const workspace = new Workspace(this.deps.state, sandboxId);
    for (const { target, writable, layers } of layeredDisks(await workspace.domain())) {
      if (writable) await folder.adopt(layers[0].path, target);
    }
    const canQuiesce = this.deps.agent.answers(sandboxId);
    const overlays = makeOverlays(moves, signal);
    await Promise.allSettled([canQuiesce, overlays]); // neither goes on when the other has failed
    await overlays;
    signal.throwIfAborted();
    if ((await canQuiesce) && (await this.moveAtOnce(folder, sandboxId, moves, true))) return;
    const state = (await this.deps.domains.describe(sandboxId))?.state ?? 'not there';
    if (state !== 'running' && state !== 'paused') {
      throw new MayflyError('sandbox_not_running', `${sandboxId} cannot be saved: it is ${state}.`);
    }
    await this.moveAtOnce(folder, sandboxId, moves, false);
  }

  /**
   * Without a signal: a virsh that is killed leaves libvirtd at work, so it is let end.
   * @returns false when the guest can't quiesce, and nothing has happened
   */
  private async moveAtOnce(
    folder: SnapshotFolder,
    sandboxId: string,
    moves: readonly Move[],
    quiesce: boolean,
  ): Promise<boolean> {
    await folder.writeAttempt({ sandboxId, quiesce, at: new Date().toISOString() });
    const workspace = new Workspace(this.deps.state, sandboxId);
    const targets = driveTargets(await workspace.domain());
    try {
      await this.deps.virsh.run(snapshotCommand(sandboxId, targets, moves, quiesce));
      return true;
    } catch (error) {
      if (quiesce) await this.deps.agent.thaw(sandboxId);
      if (await this.hasMoved(sandboxId, moves)) return true;
      if (quiesce && isQuiesceRefused(error)) return false;
      if (!(error instanceof VirshError) && !isAgentSilent(error)) throw error;
      throw new MayflyError('snapshot_failed', `libvirt took no snapshot of ${sandboxId}: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  /** Writes down what has happened, from any point after it. */
  private async settle(folder: SnapshotFolder, sandboxId: string, frozen: Element): Promise<void> {
    const workspace = new Workspace(this.deps.state, sandboxId);
    const [attempt, spec] = await Promise.all([folder.attempt(), workspace.spec()]);
    if (attempt === null || spec === null) {
      throw new MayflyError('snapshot_failed', `${folder.path} has lost what a save had written there.`);
    }
    const domain = await workspace.domain();
    for (const { target, writable, layers } of layeredDisks(frozen)) {
      const overlay = { path: workspace.overlayOf(target, folder.snapshotId), format: 'qcow2' };
      if (writable) putLayers(domain, target, [overlay, ...layers]);
    }
    const older = spec.snapshots.filter((id) => id !== folder.snapshotId);
    await workspace.change({ ...spec, snapshots: [folder.snapshotId, ...older] }, domain);
    const { quiesce: quiesced, at: savedAt } = attempt;
    const { bases } = spec;
    await folder.writeSpec({ sandboxId, kind: 'disk', quiesced, savedAt, bases, snapshots: older, saved: null });
  }
}

async function makeOverlays(moves: readonly Move[], signal: AbortSignal): Promise<void> {
  for (const { overlay, frozen } of moves) await ensureOverlay(overlay, frozen, 'qcow2', signal, 'snapshot_failed');
}

function snapshotCommand(
  sandboxId: string,
  targets: readonly string[],
  moves: readonly Move[],
  quiesce: boolean,
): string[] {
  const flags = ['--no-metadata', '--disk-only', '--atomic', '--reuse-external', ...(quiesce ? ['--quiesce'] : [])];
  const disks = targets.flatMap((target) => {
    const move = moves.find((m) => m.target === target);
    // a comma in a value is written twice (virsh(1))
    return ['--diskspec', `${target},${move ? `file=${move.overlay.replaceAll(',', ',,')}` : 'snapshot=no'}`];
  });
  return ['snapshot-create-as', sandboxId, ...flags, ...disks];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
