import { Readable } from 'node:stream';
import type { Failpoints } from '../../../host/failpoints.ts';
import type { HostSnapshots, PresentSnapshot, RevertRequest, SaveRequest } from '../../../host/snapshots.ts';
import type { StepContext } from '../../../host/step-context.ts';
import { MayflyError } from '../../../model/errors.ts';
import type { FileChangeRecord } from '../../../model/files/file-change.ts';
import type { SavedSnapshot } from '../../../model/snapshots/snapshot.ts';
import { describeDisk, type Files, type InMemoryMachine } from './machine.ts';

/** Snapshots of a machine in memory: copies, so that references don't exist. Cannot be compared. */
export class InMemorySnapshots implements HostSnapshots {
  readonly chainLength = async () => 0;
  readonly flatten = async () => {};
  readonly mergeDeleted = async () => 0;
  readonly resources = async () => null;
  readonly readFile = () => Promise.reject(notComparable());
  readonly namesIn = () => Promise.reject(notComparable());

  constructor(
    private readonly machine: InMemoryMachine,
    private readonly failpoints: Failpoints,
  ) {}

  /** Leaves the guest frozen on failure, like a worker that is killed midway. */
  async save({ snapshotId, sandboxId, kind }: SaveRequest, { signal }: StepContext): Promise<void> {
    const { snapshots, workspaces, frozen } = this.machine;
    signal.throwIfAborted();
    // Supported only for a template, whose builder is unused: a guest in memory has no memory of its own.
    if (kind !== 'disk' && !workspaces.get(sandboxId)?.isOffline) {
      throw new MayflyError('snapshot_unsupported', 'A machine in memory saves no memory: take one of kind `disk`.');
    }
    const present = snapshots.get(snapshotId);
    if (present && present.sandboxId !== sandboxId) {
      throw new MayflyError('snapshot_failed', `${snapshotId} is a snapshot of ${present.sandboxId} already.`);
    }
    if (present?.savedAt) return;
    const workspace = workspaces.get(sandboxId);
    const domain = this.machine.domains.get(sandboxId);
    if (!workspace || domain === undefined || domain === 'hibernated') {
      throw new MayflyError('sandbox_not_running', `${sandboxId} is off, so its disk may be half written. Start it.`);
    }
    frozen.add(sandboxId);
    const half = { sandboxId, files: workspace.files, savedAt: null };
    snapshots.set(snapshotId, half);
    const savedAt = new Date().toISOString();
    await this.failpoints.hit('saveSnapshot', 'during', [snapshotId, sandboxId], signal);
    frozen.delete(sandboxId);
    snapshots.set(snapshotId, { ...half, savedAt });
  }

  async thaw(sandboxId: string): Promise<void> {
    this.machine.frozen.delete(sandboxId);
  }

  async verify(snapshotId: string, { signal }: StepContext): Promise<SavedSnapshot> {
    signal.throwIfAborted();
    const { sandboxId, files, savedAt } = this.#whole(snapshotId, 'snapshot_failed');
    await this.failpoints.hit('verifySnapshot', 'during', [snapshotId, sandboxId], signal);
    const disk = describeDisk(files);
    return { kind: 'disk', disks: [disk], memoryBytes: null, sizeBytes: disk.storedBytes, quiesced: true, savedAt };
  }

  async remove(snapshotId: string): Promise<{ keptFor: null }> {
    const { snapshots } = this.machine;
    const present = snapshots.get(snapshotId);
    if (present) snapshots.set(snapshotId, { ...present, savedAt: null });
    await this.failpoints.hit('removeSnapshot', 'during', snapshotId);
    snapshots.delete(snapshotId);
    return { keptFor: null };
  }

  async revert({ sandboxId, snapshotId, restoreId }: RevertRequest, { signal }: StepContext): Promise<void> {
    signal.throwIfAborted();
    const workspace = this.machine.workspaces.get(sandboxId);
    if (workspace?.restoreId === restoreId) return;
    if (!workspace?.clone) throw new MayflyError('restore_failed', `${sandboxId} has no disk on this host.`);
    if (this.machine.isOn(sandboxId)) throw new MayflyError('restore_failed', `${sandboxId} runs.`);
    const saved = this.#whole(snapshotId, 'snapshot_not_found');
    if (saved.sandboxId !== sandboxId) {
      throw new MayflyError('restore_failed', `${snapshotId} is of ${saved.sandboxId}, not of ${sandboxId}.`);
    }
    await this.failpoints.hit('revertDisk', 'during', [snapshotId, sandboxId], signal);
    Object.assign(workspace, { files: saved.files, restoreId });
  }

  /** Returns the files of a fork. @throws MayflyError snapshot_not_found */
  filesOf(snapshotId: string): Files {
    return this.#whole(snapshotId, 'snapshot_not_found').files;
  }

  compare(): AsyncIterable<FileChangeRecord> {
    return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(notComparable()) }) };
  }

  changesAsTar(): Readable {
    return Readable.from(this.compare());
  }

  async list(): Promise<PresentSnapshot[]> {
    return [...this.machine.snapshots].map(([snapshotId, { savedAt }]) => ({
      snapshotId,
      state: savedAt ? 'whole' : 'half',
    }));
  }

  #whole(snapshotId: string, code: 'snapshot_failed' | 'snapshot_not_found') {
    const present = this.machine.snapshots.get(snapshotId);
    if (present?.savedAt) return { ...present, savedAt: present.savedAt };
    throw new MayflyError(code, `${snapshotId} is not on this host, or only half of it is.`);
  }
}

function notComparable(): MayflyError {
  return new MayflyError('diff_failed', 'A machine in memory has no file systems that could be compared.');
}
