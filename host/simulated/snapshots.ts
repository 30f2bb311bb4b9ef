import { chmod, mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { MayflyError } from '../../model/errors.ts';
import type { FileChangeRecord, GuestName } from '../../model/files/file-change.ts';
import { isSnapshotId } from '../../model/ids.ts';
import type { SavedSnapshot } from '../../model/snapshots/snapshot.ts';
import type { Failpoints } from '../failpoints.ts';
import { syncDirectory } from '../os/atomic-file.ts';
import { entriesOf, makeClosed } from '../os/directory.ts';
import type {
  Comparison,
  HostSnapshots,
  KeptSnapshot,
  RevertRequest,
  SavedFileRequest,
  SavedPlace,
  SaveRequest,
} from '../snapshots.ts';
import type { StateDir } from '../state-dir.ts';
import type { StepContext } from '../step-context.ts';
import { Comparing } from './comparing.ts';
import { allocatedBytes, apparentBytes } from './disk/disk-usage.ts';
import { copyTree, digestOfTree, removeTree } from './disk/tree.ts';
import { replaceDisk } from './machine/replaced-disk.ts';
import { asFailure } from './machine/step-failure.ts';
import type { Suspension } from './machine/suspension.ts';
import { readSpec, removeSpec, type SnapshotSpec, writeSpec } from './snapshot-spec.ts';

/** What is asked of the sandboxes whose disks are saved. */
export interface SavedMachine {
  isOn(sandboxId: string): Promise<boolean>;
  suspension(sandboxId: string): Promise<Suspension>;
  /** Its folder, whether it is there or not. */
  workspace(sandboxId: string): Promise<string>;
}

interface SnapshotsDeps {
  state: StateDir;
  failpoints: Failpoints;
  machine: SavedMachine;
}

/** Snapshots of a simulated host: whole copies of the sandbox's tree, so nothing ever refers to one. */
export class SimulatedSnapshots implements HostSnapshots {
  readonly #comparing: Comparing;

  constructor(private readonly deps: SnapshotsDeps) {
    this.#comparing = new Comparing(async (snapshotId) => {
      const folder = deps.state.snapshot(snapshotId);
      await wholeOne(folder, snapshotId);
      return diskOf(folder);
    });
  }

  async save({ snapshotId, sandboxId, kind }: SaveRequest, { signal }: StepContext): Promise<void> {
    signal.throwIfAborted();
    const { state, machine, failpoints } = this.deps;
    if (kind !== 'disk') {
      throw new MayflyError('snapshot_unsupported', 'A simulated host has no memory to save: take one of kind `disk`.');
    }
    const folder = state.snapshot(snapshotId);
    const present = await readSpec(folder);
    if (present && present.sandboxId !== sandboxId) {
      throw new MayflyError('snapshot_failed', `${snapshotId} is a snapshot of ${present.sandboxId} already.`);
    }
    if (present) return;
    if (!(await machine.isOn(sandboxId))) {
      throw new MayflyError('sandbox_not_running', `${sandboxId} is off, so its disk may be half written. Start it.`);
    }
    const staging = await this.#stage(folder);
    const suspension = await machine.suspension(sandboxId);
    const disk = diskOf(await machine.workspace(sandboxId));
    try {
      const savedAt = await suspension.during(async () => {
        const stoppedAt = new Date().toISOString();
        await copyTree(disk, diskOf(staging), signal);
        await failpoints.hit('saveSnapshot', 'during', [snapshotId, sandboxId], signal);
        return stoppedAt;
      });
      await writeSpec(staging, { sandboxId, kind, savedAt, sha256: null });
    } catch (error) {
      throw asFailure('snapshot_failed', `${sandboxId} could not be saved`, error, signal);
    }
    await rename(staging, folder);
    await syncDirectory(state.snapshots);
  }

  async thaw(sandboxId: string): Promise<void> {
    await (await this.deps.machine.suspension(sandboxId)).thaw();
  }

  async verify(snapshotId: string, { signal }: StepContext): Promise<SavedSnapshot> {
    signal.throwIfAborted();
    const folder = this.deps.state.snapshot(snapshotId);
    const spec = await readSpec(folder);
    if (!spec) throw new MayflyError('snapshot_failed', `${snapshotId} is not on this host, or only half of it is.`);
    try {
      const sha256 = await digestOfTree(diskOf(folder), signal);
      if (spec.sha256 !== null && spec.sha256 !== sha256) {
        const why = `its digest was ${spec.sha256} and is ${sha256}`;
        throw new MayflyError('snapshot_failed', `${snapshotId} has changed since it was saved: ${why}. Delete it.`);
      }
      await this.deps.failpoints.hit('verifySnapshot', 'during', [snapshotId, spec.sandboxId], signal);
      if (spec.sha256 === null) await writeSpec(folder, { ...spec, sha256 });
      await chmod(folder, 0o500);
      return await describe(diskOf(folder), spec, sha256);
    } catch (error) {
      throw asFailure('snapshot_failed', `${snapshotId} could not be verified`, error, signal);
    }
  }

  async remove(snapshotId: string): Promise<{ keptFor: null }> {
    const folder = this.deps.state.snapshot(snapshotId);
    // First what makes it count as whole, so that a crash in the middle leaves nothing that looks usable.
    await removeSpec(folder);
    await this.deps.failpoints.hit('removeSnapshot', 'during', snapshotId);
    await removeTree(folder);
    await removeTree(`${folder}.new`);
    return { keptFor: null };
  }

  async revert({ sandboxId, snapshotId, restoreId }: RevertRequest, { signal }: StepContext): Promise<void> {
    signal.throwIfAborted();
    const { machine, failpoints } = this.deps;
    const copy = (to: string) => this.copy(snapshotId, to, signal, sandboxId);
    try {
      const isOff = async () => !(await machine.isOn(sandboxId));
      const onStaged = () => failpoints.hit('revertDisk', 'during', [snapshotId, sandboxId], signal);
      await replaceDisk(await machine.workspace(sandboxId), restoreId, { isOff, copy, onStaged });
    } catch (error) {
      throw asFailure('restore_failed', `${sandboxId} could not be given ${snapshotId}`, error, signal);
    }
  }

  /**
   * Copies the disk of a whole snapshot.
   * @param onlyOf the sandbox whose identity is wanted with it; null: the identity will be replaced
   * @throws MayflyError snapshot_not_found, restore_failed when it is another's; ExecError; the signal's reason
   */
  async copy(snapshotId: string, to: string, signal: AbortSignal, onlyOf: string | null): Promise<void> {
    const folder = this.deps.state.snapshot(snapshotId);
    const { sandboxId } = await wholeOne(folder, snapshotId);
    if (onlyOf !== null && sandboxId !== onlyOf) {
      throw new MayflyError('restore_failed', `${snapshotId} is of ${sandboxId}: its identity cannot be ${onlyOf}'s.`);
    }
    await copyTree(diskOf(folder), to, signal);
    // What was removed meanwhile is missing in the copy, and nobody says so.
    await wholeOne(folder, snapshotId);
  }

  /** Copies refer to nothing. */
  async chainLength(): Promise<number> {
    return 0;
  }

  async flatten(): Promise<void> {}

  async mergeDeleted(): Promise<number> {
    return 0;
  }

  compare(comparison: Comparison, signal: AbortSignal): AsyncIterable<FileChangeRecord> {
    return this.#comparing.compare(comparison, signal);
  }

  async readFile(request: SavedFileRequest, signal: AbortSignal): Promise<{ content: Buffer; size: number }> {
    return this.#comparing.readFile(request, signal);
  }

  async namesIn(place: SavedPlace, signal: AbortSignal): Promise<GuestName[]> {
    return this.#comparing.namesIn(place, signal);
  }

  changesAsTar(comparison: Comparison, signal: AbortSignal): Readable {
    return this.#comparing.changesAsTar(comparison, signal);
  }

  /** A tree has no machine. */
  async resources(): Promise<null> {
    return null;
  }

  async list(): Promise<KeptSnapshot[]> {
    const { state } = this.deps;
    const names = ((await entriesOf(state.snapshots)) ?? []).map((name) => name.replace(/\.new$/, ''));
    const ids = [...new Set(names.filter(isSnapshotId))].sort();
    return Promise.all(
      ids.map(async (snapshotId) => {
        const spec = await readSpec(state.snapshot(snapshotId));
        return { snapshotId, state: spec ? ('whole' as const) : ('half' as const) };
      }),
    );
  }

  /** An empty folder beside the snapshot's own, which becomes it when all is there. */
  async #stage(folder: string): Promise<string> {
    const staging = `${folder}.new`;
    await makeClosed(this.deps.state.snapshots);
    await removeTree(staging);
    await removeTree(folder);
    await mkdir(staging, { mode: 0o700 });
    return staging;
  }
}

function diskOf(folder: string): string {
  return join(folder, 'root');
}

async function wholeOne(folder: string, snapshotId: string): Promise<SnapshotSpec> {
  const spec = await readSpec(folder);
  if (spec) return spec;
  throw new MayflyError('snapshot_not_found', `${snapshotId} is not on this host, or only half of it is.`);
}

async function describe(disk: string, spec: SnapshotSpec, sha256: string): Promise<SavedSnapshot> {
  const [virtualBytes, storedBytes] = [await apparentBytes(disk), await allocatedBytes(disk)];
  return {
    kind: spec.kind,
    disks: [{ target: 'root', sha256, virtualBytes, storedBytes }],
    memoryBytes: null,
    sizeBytes: storedBytes,
    quiesced: true, // nothing of the sandbox moved, and what it had written is in its tree at once
    savedAt: spec.savedAt,
  };
}
