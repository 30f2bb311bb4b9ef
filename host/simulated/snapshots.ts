import { chmod, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { MayflyError } from '../../model/errors.ts';
import { isSnapshotId } from '../../model/ids.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import type { SavedSnapshot } from '../../model/snapshots/snapshot.ts';
import type { Failpoints } from '../failpoints.ts';
import { makePrivate } from '../os/directory.ts';
import type { HostSnapshots, PresentSnapshot, RevertRequest, SaveRequest } from '../snapshots.ts';
import type { StateDir } from '../state-dir.ts';
import type { StepContext } from '../step-context.ts';
import { Comparing } from './comparing.ts';
import { copyTree, removeTree } from './disk/tree.ts';
import { replaceDisk } from './machine/replaced-disk.ts';
import { orStepFailure } from './machine/step-failure.ts';
import type { SimulatedMachine } from './machine.ts';
import { diskOfTree, savedIds, TreeFolder, treeOf } from './saved/tree-folder.ts';

const SnapshotSpec = z.strictObject({
  sandboxId: z.string().refine(isSandboxId),
  kind: z.literal('disk'),
  /** Time at which the sandbox was stopped, ISO 8601. */
  savedAt: z.iso.datetime(),
  /** Digest of the tree at its first check, hex; null before it. */
  sha256: z.hex().length(64).nullable(),
});
type SnapshotSpec = z.infer<typeof SnapshotSpec>;

/** Returns the folder of one snapshot of a simulated host. */
export function snapshotFolder(state: StateDir, snapshotId: string): TreeFolder<SnapshotSpec> {
  return new TreeFolder(state.snapshot(snapshotId), SnapshotSpec);
}

/** Snapshots of a simulated host: whole copies of the sandbox's tree, without referrers. */
export class SimulatedSnapshots extends Comparing implements HostSnapshots {
  constructor(private readonly deps: { state: StateDir; failpoints: Failpoints; machine: SimulatedMachine }) {
    super(async (snapshotId) => treeOf((await this.#whole(snapshotId)).folder.path));
  }

  async save({ snapshotId, sandboxId, kind }: SaveRequest, { signal }: StepContext): Promise<void> {
    signal.throwIfAborted();
    const { machine, failpoints } = this.deps;
    if (kind !== 'disk') {
      throw new MayflyError('snapshot_unsupported', 'A simulated host has no memory to save: take one of kind `disk`.');
    }
    const folder = this.#folder(snapshotId);
    const present = await folder.whole();
    if (present && present.sandboxId !== sandboxId) {
      throw new MayflyError('snapshot_failed', `${snapshotId} is a snapshot of ${present.sandboxId} already.`);
    }
    if (present) return;
    if (!(await machine.isOn(sandboxId))) {
      throw new MayflyError('sandbox_not_running', `${sandboxId} is off, so its disk may be half written. Start it.`);
    }
    await this.#stage(folder);
    const suspension = await machine.suspension(sandboxId);
    const disk = treeOf(await machine.workspace(sandboxId));
    const copy = async () => {
      const savedAt = new Date().toISOString();
      await copyTree(disk, treeOf(folder.staging), signal);
      await failpoints.hit('saveSnapshot', 'during', [snapshotId, sandboxId], signal);
      return savedAt;
    };
    const step = async () => {
      const savedAt = await suspension.during(copy);
      await folder.write(folder.staging, { sandboxId, kind, savedAt, sha256: null });
    };
    await orStepFailure(step, 'snapshot_failed', `${sandboxId} could not be saved`, signal);
    await folder.keep();
  }

  async thaw(sandboxId: string): Promise<void> {
    await (await this.deps.machine.suspension(sandboxId)).thaw();
  }

  async verify(snapshotId: string, { signal }: StepContext): Promise<SavedSnapshot> {
    signal.throwIfAborted();
    const folder = this.#folder(snapshotId);
    const spec = await folder.whole();
    if (!spec) throw new MayflyError('snapshot_failed', `${snapshotId} is not on this host, or only half of it is.`);
    const step = async (): Promise<SavedSnapshot> => {
      const disk = await diskOfTree(treeOf(folder.path), signal);
      if (spec.sha256 !== null && spec.sha256 !== disk.sha256) {
        const why = `its digest was ${spec.sha256} and is ${disk.sha256}`;
        throw new MayflyError('snapshot_failed', `${snapshotId} has changed since it was saved: ${why}. Delete it.`);
      }
      await this.deps.failpoints.hit('verifySnapshot', 'during', [snapshotId, spec.sandboxId], signal);
      if (spec.sha256 === null) await folder.write(folder.path, { ...spec, sha256: disk.sha256 });
      await chmod(folder.path, 0o500);
      const { kind, savedAt } = spec;
      // quiesced: the sandbox was stopped, and its writes reach the tree at once
      return { kind, disks: [disk], memoryBytes: null, sizeBytes: disk.storedBytes, quiesced: true, savedAt };
    };
    return await orStepFailure(step, 'snapshot_failed', `${snapshotId} could not be verified`, signal);
  }

  async remove(snapshotId: string): Promise<{ keptFor: null }> {
    const { path, staging } = this.#folder(snapshotId);
    // The description first, so that a crash midway leaves nothing that looks complete.
    await rm(join(path, 'spec.json'), { force: true });
    await this.deps.failpoints.hit('removeSnapshot', 'during', snapshotId);
    await removeTree(path);
    await removeTree(staging);
    return { keptFor: null };
  }

  async revert({ sandboxId, snapshotId, restoreId }: RevertRequest, { signal }: StepContext): Promise<void> {
    signal.throwIfAborted();
    const { machine, failpoints } = this.deps;
    const copy = (to: string) => this.copy(snapshotId, to, signal, sandboxId);
    const isOff = async () => !(await machine.isOn(sandboxId));
    const onStaged = () => failpoints.hit('revertDisk', 'during', [snapshotId, sandboxId], signal);
    const step = async () => replaceDisk(await machine.workspace(sandboxId), restoreId, { isOff, copy, onStaged });
    await orStepFailure(step, 'restore_failed', `${sandboxId} could not be given ${snapshotId}`, signal);
  }

  /**
   * @param onlyOf sandbox whose identity the tree must have; null: the identity will be replaced @throws MayflyError
   * snapshot_not_found, restore_failed when it is another's; ExecError; the signal's reason
   */
  async copy(snapshotId: string, to: string, signal: AbortSignal, onlyOf: string | null): Promise<void> {
    const { folder, spec } = await this.#whole(snapshotId);
    if (onlyOf !== null && spec.sandboxId !== onlyOf) {
      const why = `${snapshotId} is of ${spec.sandboxId}: its identity cannot be ${onlyOf}'s.`;
      throw new MayflyError('restore_failed', why);
    }
    await copyTree(treeOf(folder.path), to, signal);
    await this.#whole(snapshotId); // files removed during the copy would be missing in it
  }

  /** Always 0: copies refer to nothing. */
  chainLength = async () => 0;
  flatten = async () => {};
  mergeDeleted = async () => 0;
  /** Always null: a tree has no machine. */
  resources = async () => null;

  async list(): Promise<PresentSnapshot[]> {
    const ids = await savedIds(this.deps.state.snapshots, isSnapshotId);
    return Promise.all(
      ids.map(async (snapshotId): Promise<PresentSnapshot> => {
        return { snapshotId, state: (await this.#folder(snapshotId).whole()) ? 'whole' : 'half' };
      }),
    );
  }

  #folder(snapshotId: string): TreeFolder<SnapshotSpec> {
    return snapshotFolder(this.deps.state, snapshotId);
  }

  async #whole(snapshotId: string): Promise<{ folder: TreeFolder<SnapshotSpec>; spec: SnapshotSpec }> {
    const folder = this.#folder(snapshotId);
    const spec = await folder.whole();
    if (spec) return { folder, spec };
    throw new MayflyError('snapshot_not_found', `${snapshotId} is not on this host, or only half of it is.`);
  }

  /** Makes an empty folder beside the snapshot's own, to be renamed to it when complete. */
  async #stage({ path, staging }: TreeFolder<SnapshotSpec>): Promise<void> {
    await makePrivate(this.deps.state.snapshots);
    await removeTree(staging);
    await removeTree(path);
    await mkdir(staging, { mode: 0o700 });
  }
}
