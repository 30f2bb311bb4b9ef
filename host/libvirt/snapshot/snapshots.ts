import { chown, stat } from 'node:fs/promises';
import { MayflyError } from '../../../model/errors.ts';
import type { SavedDisk, SavedSnapshot } from '../../../model/snapshots/snapshot.ts';
import { freezeImage } from '../../disk/frozen-image.ts';
import { ensureOverlay } from '../../disk/overlay.ts';
import { orAbsent } from '../../os/absent.ts';
import { flush } from '../../os/atomic-file.ts';
import type { HostSnapshots, PresentSnapshot, RevertRequest, SavedResources, SaveRequest } from '../../snapshots.ts';
import type { StepContext } from '../../step-context.ts';
import { child } from '../client/xml.ts';
import { cpuCount, memoryKib } from '../domain-xml/clone-resources.ts';
import { layeredDisks, putLayers } from '../layers/disk-layers.ts';
import type { BaseSnapshot } from '../layers/references.ts';
import { MEMORY_MODE, SnapshotFolder, snapshotFolders } from '../layers/snapshot-folder.ts';
import { Workspace } from '../layers/workspace.ts';
import { Flattening } from '../live/flattening.ts';
import { createThaw } from '../live/unquiescing.ts';
import { readSaveImage } from '../memory/save-image.ts';
import { isActive } from '../output/domain-state.ts';
import type { LibvirtTools } from '../tools/tools.ts';
import { SnapshotReader } from './comparing.ts';
import { Saving } from './saving.ts';

/** Snapshots as frozen layers in the qcow2 chain of a sandbox's disk. */
export class LibvirtSnapshots extends SnapshotReader implements HostSnapshots {
  readonly #saving: Saving;
  readonly #flattening: Flattening;

  /** @param diffProgram path of mayfly-diff; null where set-up has not built it */
  constructor(
    private readonly deps: LibvirtTools,
    diffProgram: string | null,
  ) {
    super(deps.references, diffProgram);
    this.#saving = new Saving(deps);
    this.#flattening = new Flattening(deps);
  }

  save = (request: SaveRequest, context: StepContext) => this.#saving.save(request, context);

  async thaw(sandboxId: string): Promise<void> {
    for (const folder of await snapshotFolders(this.deps.state)) {
      const attempt = await folder.attempt();
      if (attempt?.sandboxId !== sandboxId || (await folder.spec()) !== null) continue;
      await createThaw(this.deps).thaw(attempt);
    }
  }

  async verify(snapshotId: string, context: StepContext): Promise<SavedSnapshot> {
    const folder = new SnapshotFolder(this.deps.state, snapshotId);
    const [spec, frozen] = await Promise.all([folder.spec(), folder.domain()]);
    if (spec === null || frozen === null) {
      throw new MayflyError(
        'snapshot_failed',
        `${snapshotId} is not whole on this host: nothing of it can be checked.`,
      );
    }
    if (spec.saved !== null) {
      await this.#compareWithSaved(snapshotId, context);
      return spec.saved;
    }
    const disks: SavedDisk[] = [];
    for (const { target, writable, layers } of layeredDisks(frozen)) {
      if (!writable) continue;
      context.alive(`checking ${target}`);
      disks.push({
        target,
        ...(await freezeImage(layers[0].path, this.deps.digests, 'snapshot_failed', context.signal)),
      });
    }
    const { kind, quiesced, savedAt } = spec;
    const memory = kind === 'full' ? await this.#checkedMemory(folder, context) : null;
    const memoryBytes = memory?.storedBytes ?? null;
    const sizeBytes = disks.reduce((sum, { storedBytes }) => sum + storedBytes, memoryBytes ?? 0);
    const saved = { kind, disks, memoryBytes, sizeBytes, quiesced, savedAt };
    await folder.writeSpec({ ...spec, saved, memorySha256: memory?.sha256 ?? null });
    return saved;
  }

  async remove(snapshotId: string): Promise<{ keptFor: string | null }> {
    const folder = new SnapshotFolder(this.deps.state, snapshotId);
    if ((await folder.exists()) && (await folder.spec()) === null) await this.#saving.takeBack(folder);
    if (await folder.exists()) await folder.markRemoved();
    await this.deps.references.sweep();
    return { keptFor: (await folder.exists()) ? await this.deps.references.referrers(snapshotId) : null };
  }

  async revert(request: RevertRequest, context: StepContext): Promise<void> {
    const { sandboxId, snapshotId, restoreId } = request;
    if (!/^[a-z0-9-]{1,64}$/.test(restoreId)) throw new RangeError(`not a restore id: ${JSON.stringify(restoreId)}`);
    const workspace = new Workspace(this.deps.state, sandboxId);
    if ((await workspace.spec())?.restoreId !== restoreId) {
      const state = (await this.deps.domains.describe(sandboxId))?.state ?? 'shut_off';
      if (isActive(state)) {
        throw new MayflyError(
          'restore_failed',
          `${sandboxId} is ${state}: its disks are in use, and stay as they are.`,
        );
      }
      await this.deps.references.on(snapshotId, (to) => this.#revertDisks(workspace, to, restoreId, context.signal));
    }
    await this.deps.references.sweep();
  }

  async chainLength(sandboxId: string): Promise<number> {
    return (await new Workspace(this.deps.state, sandboxId).spec())?.snapshots.length ?? 0;
  }

  flatten = (sandboxId: string, context: StepContext) => this.#flattening.flatten(sandboxId, context);
  mergeDeleted = (sandboxId: string, context: StepContext) => this.#flattening.mergeDeleted(sandboxId, context);

  async resources(snapshotId: string): Promise<SavedResources> {
    const domain = await new SnapshotFolder(this.deps.state, snapshotId).domain();
    if (domain === null) throw new MayflyError('snapshot_not_found', `${snapshotId} is not on this host.`);
    return { cpus: cpuCount(domain), memoryMib: Math.ceil(memoryKib(child(domain, 'memory')) / 1024) };
  }

  async list(): Promise<PresentSnapshot[]> {
    const folders = await snapshotFolders(this.deps.state);
    return await Promise.all(
      folders.map(async (folder): Promise<PresentSnapshot> => {
        const { snapshotId } = folder;
        if (await folder.isRemoved()) return { snapshotId, state: 'kept' };
        return { snapshotId, state: (await folder.spec()) === null ? 'half' : 'whole' };
      }),
    );
  }

  /** Compares the layers and the memory with the first check's digests, down to its source. */
  async #compareWithSaved(snapshotId: string, context: StepContext): Promise<void> {
    const { digests, references } = this.deps;
    await references.on(snapshotId, async ({ domain, spec: { memorySha256 } }) => {
      for (const { target, writable, layers } of layeredDisks(domain)) {
        context.alive(`checking ${target}`);
        if (writable) await freezeImage(layers[0].path, digests, 'snapshot_failed', context.signal);
      }
      const { memory } = new SnapshotFolder(this.deps.state, snapshotId);
      if (memorySha256 === null || (await orAbsent(digests.protect(memory, { mode: MEMORY_MODE }))) === memorySha256)
        return;
      throw new MayflyError('source_changed', `${memory} has changed since ${snapshotId} was saved.`);
    });
  }

  async #checkedMemory(
    { memory }: SnapshotFolder,
    context: StepContext,
  ): Promise<{ sha256: string; storedBytes: number }> {
    context.alive('checking the memory');
    try {
      await readSaveImage(memory);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      throw new MayflyError('snapshot_failed', `The saved memory ${memory} is damaged: ${error.message}`);
    }
    await chown(memory, process.geteuid?.() ?? 0, process.getegid?.() ?? 0);
    const [sha256, { blocks }] = await Promise.all([
      this.deps.digests.protect(memory, { mode: MEMORY_MODE }),
      stat(memory),
      flush(memory),
    ]);
    if (sha256 === null) throw new MayflyError('snapshot_failed', `${memory} is not a file.`);
    return { sha256, storedBytes: blocks * 512 };
  }

  async #revertDisks(
    workspace: Workspace,
    { snapshotId, domain: frozen, bases, spec: { kind, snapshots } }: BaseSnapshot,
    restoreId: string,
    signal: AbortSignal,
  ): Promise<void> {
    const spec = await workspace.spec();
    if (spec === null) throw new MayflyError('restore_failed', `${workspace.sandboxId} is not on this host.`);
    const domain = await workspace.domain();
    for (const { target, writable, layers } of layeredDisks(frozen)) {
      if (!writable) continue;
      const overlay = workspace.overlayOf(target, restoreId);
      await ensureOverlay(overlay, layers[0].path, layers[0].format, signal, 'restore_failed');
      putLayers(domain, target, [{ path: overlay, format: 'qcow2' }, ...layers]);
    }
    signal.throwIfAborted();
    const wakesFrom = kind === 'full' ? snapshotId : null;
    await workspace.change({ ...spec, bases, snapshots: [snapshotId, ...snapshots], restoreId, wakesFrom }, domain);
  }
}
