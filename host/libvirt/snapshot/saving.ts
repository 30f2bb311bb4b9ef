import { MayflyError } from '../../../model/errors.ts';
import { CHAIN_LIMIT } from '../../../model/snapshots/snapshot-saga.ts';
import { allSettledOrThrow } from '../../os/abort.ts';
import type { SaveRequest } from '../../snapshots.ts';
import type { StepContext } from '../../step-context.ts';
import { child, type Element, textOf } from '../client/xml.ts';
import { layeredDisks, putLayers } from '../layers/disk-layers.ts';
import { SnapshotFolder } from '../layers/snapshot-folder.ts';
import { makeOverlays, type SwitchedDisk, switchedDisksOf } from '../layers/switched-disks.ts';
import { Workspace } from '../layers/workspace.ts';
import { DiskSwitch } from '../live/disk-switch.ts';
import { Flattening } from '../live/flattening.ts';
import { createThaw, type Thaw } from '../live/unquiescing.ts';
import type { LibvirtTools } from '../tools/tools.ts';

/**
 * Saves a snapshot: hard-links its layers into the snapshot's folder, switches all disks to new ones at one moment, and
 * unlinks the old names. docs/decisions/0009-snapshots.md lists the state after a crash at each point.
 */
export class Saving {
  readonly #unquiescing: Thaw;
  readonly #diskSwitch: DiskSwitch;
  readonly #flattening: Flattening;

  constructor(private readonly deps: LibvirtTools) {
    this.#flattening = new Flattening(deps);
    this.#unquiescing = createThaw(deps);
    this.#diskSwitch = new DiskSwitch(deps, this.#unquiescing);
  }

  /** @throws MayflyError snapshot_failed, sandbox_not_running, snapshot_unsupported */
  async save({ snapshotId, sandboxId, kind }: SaveRequest, context: StepContext): Promise<void> {
    const folder = new SnapshotFolder(this.deps.state, snapshotId);
    if ((await folder.spec()) !== null) return;
    const described = await folder.domain();
    const asked = described === null ? this.deps.agent.answers(sandboxId) : null; // while the rest is prepared
    const answered = Promise.allSettled([asked]);
    try {
      const frozen = described ?? (await this.#describe(folder, sandboxId, context));
      const switched = switchedDisksOf(frozen, folder, new Workspace(this.deps.state, sandboxId));
      if (described !== null) await this.deps.jobs.ended(sandboxId, context);
      const hasSwitched = await this.#diskSwitch.hasSwitched(sandboxId, switched);
      await this.#unquiescing.thaw(await folder.attempt());
      if (!hasSwitched) {
        const answers = await this.#prepare(folder, sandboxId, switched, asked, context.signal);
        if (kind === 'full') await this.#diskSwitch.switchWithMemory(folder, sandboxId, switched, answers);
        else await this.#diskSwitch.switchDisks(folder, sandboxId, switched, answers);
      }
      await this.#finalize(folder, sandboxId, frozen);
    } finally {
      await answered; // nothing runs on when the step has failed
    }
  }

  /**
   * Finishes an interrupted save: either removes it, or, if the sandbox already writes to new layers and so needs those
   * below, completes the snapshot.
   */
  async takeBack(folder: SnapshotFolder): Promise<void> {
    const frozen = await folder.domain();
    if (frozen === null) return await folder.drop();
    const sandboxId = textOf(child(frozen, 'name'));
    await this.#unquiescing.thaw(await folder.attempt());
    const workspace = new Workspace(this.deps.state, sandboxId);
    const spec = await workspace.spec();
    if (spec !== null && (await this.#diskSwitch.hasSwitched(sandboxId, switchedDisksOf(frozen, folder, workspace)))) {
      return await this.#finalize(folder, sandboxId, frozen);
    }
    if (spec !== null) await workspace.change(spec, await workspace.domain());
    await folder.drop();
  }

  /** Stops a running flatten, during which libvirt saves no disk; flattens a chain at its limit. */
  async #limitChain(sandboxId: string, context: StepContext): Promise<void> {
    await this.#flattening.stop(sandboxId);
    const chainLength = (await new Workspace(this.deps.state, sandboxId).spec())?.snapshots.length ?? 0;
    if (chainLength >= CHAIN_LIMIT) await this.#flattening.flatten(sandboxId, context);
  }

  /** Records the machine to be saved, with the layers to be frozen under their new names. */
  async #describe(folder: SnapshotFolder, sandboxId: string, context: StepContext): Promise<Element> {
    await this.#limitChain(sandboxId, context);
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

  /** Links the live layers, and makes the overlays above them. @returns true when the guest agent answers */
  async #prepare(
    folder: SnapshotFolder,
    sandboxId: string,
    switched: readonly SwitchedDisk[],
    asked: Promise<boolean> | null,
    signal: AbortSignal,
  ): Promise<boolean> {
    const workspace = new Workspace(this.deps.state, sandboxId);
    for (const { target, writable, layers } of layeredDisks(await workspace.domain())) {
      if (writable) await folder.adopt(layers[0].path, target);
    }
    const answering = asked ?? this.deps.agent.answers(sandboxId);
    const [answers] = await allSettledOrThrow(answering, makeOverlays(switched, signal));
    signal.throwIfAborted();
    return answers;
  }

  async #finalize(folder: SnapshotFolder, sandboxId: string, frozen: Element): Promise<void> {
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
    const { kind, quiesce, at: savedAt } = attempt;
    const quiesced = quiesce || kind === 'full';
    const { bases } = spec;
    const unchecked = { saved: null, memorySha256: null };
    await folder.writeSpec({ sandboxId, kind, quiesced, savedAt, bases, snapshots: older, ...unchecked });
  }
}
