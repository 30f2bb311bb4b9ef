import type { Readable } from 'node:stream';
import type { FileChangeRecord, GuestName } from '../model/files/file-change.ts';
import type { SavedSnapshot, SnapshotKind } from '../model/snapshots/snapshot.ts';
import type { StepContext } from './step-context.ts';

export interface SaveRequest {
  snapshotId: string;
  sandboxId: string;
  kind: SnapshotKind;
}

export interface RevertRequest {
  sandboxId: string;
  snapshotId: string;
  /** Id of this revert: 1 to 64 of `a-z0-9-`. */
  restoreId: string;
}

export interface Comparison {
  /** Ids of two snapshots of this host, of one sandbox or of two. */
  before: string;
  after: string;
  /** Absolute paths: limits the comparison to these files and folders; [] for all. */
  within: readonly GuestName[];
}

export interface SavedPath {
  snapshotId: string;
  /** Absolute. Symbolic links are not followed. */
  path: GuestName;
}

export interface SavedFileRequest extends SavedPath {
  /** Limit of the bytes returned from the file's start. */
  maxBytes: number;
}

export interface SavedResources {
  cpus: number;
  memoryMib: number;
}

export interface PresentSnapshot {
  snapshotId: string;
  /** `half`: a save has not ended. `kept`: deleted, but still referenced. */
  state: 'whole' | 'half' | 'kept';
}

/**
 * Snapshots of one machine. As with {@link Hypervisor}, every method that changes something is idempotent, and removing
 * an absent thing succeeds.
 */
export interface HostSnapshots {
  /**
   * Saves the sandbox at one moment, its file systems quiesced where the guest can; it continues on a new layer.
   * @throws MayflyError snapshot_failed, sandbox_not_running (neither running nor paused), snapshot_unsupported
   */
  save(request: SaveRequest, context: StepContext): Promise<void>;
  /** Ends a quiesce that a save left behind. No-op without a quiesce or a sandbox. */
  thaw(sandboxId: string): Promise<void>;
  /**
   * Checks the saved data (`qemu-img check`, digest), makes it read-only, and describes it. Repeated, it compares all
   * parts of the snapshot with the first result.
   * @throws MayflyError snapshot_failed; when repeated also source_changed, snapshot_not_found
   */
  verify(snapshotId: string, context: StepContext): Promise<SavedSnapshot>;
  /**
   * Removes a snapshot. Parts referenced by a workspace or another snapshot stay, hidden; removing the last referrer
   * frees them.
   */
  remove(snapshotId: string): Promise<{ keptFor: string | null }>;
  /**
   * Reverts a domain that is off, discarding later writes. Keyed by sandbox and restore: a repeat is a no-op; a failure
   * changes nothing. @throws MayflyError restore_failed, snapshot_not_found
   */
  revert(request: RevertRequest, context: StepContext): Promise<void>;
  /** Returns the length of the chain of snapshots below the sandbox's disks; 0 when it is absent. */
  chainLength(sandboxId: string): Promise<number>;
  /**
   * Makes the disks of a running or paused sandbox depend on its source alone, live, by copying their data from
   * snapshots. The snapshots stay as they are. Aborted by its signal, the disks keep their chain.
   * @throws MayflyError flatten_failed (also without space on the host), sandbox_not_running
   */
  flatten(sandboxId: string, context: StepContext): Promise<void>;
  /**
   * Flattens, as {@link flatten}, only the deleted snapshots above all others. @returns how many left the chain
   * @throws MayflyError flatten_failed, sandbox_not_running
   */
  mergeDeleted(sandboxId: string, context: StepContext): Promise<number>;
  /**
   * Compares two snapshots: the file system of the disk that their machine boots from. Both stay unchanged, and in
   * place until the last line. Names and attributes were written by guests.
   * @throws MayflyError snapshot_not_found, snapshot_not_ready, diff_failed, after any number of lines
   */
  compare(comparison: Comparison, signal: AbortSignal): AsyncIterable<FileChangeRecord>;
  /**
   * Reads the first bytes of a regular file of a snapshot, and its size.
   * @throws MayflyError snapshot_not_found, snapshot_not_ready, file_not_found, file_conflict (no regular file),
   * diff_failed
   */
  readFile(request: SavedFileRequest, signal: AbortSignal): Promise<{ content: Buffer; size: number }>;
  /**
   * Lists the names in a directory of a snapshot, in no order.
   * @throws MayflyError snapshot_not_found, snapshot_not_ready, file_not_found, file_conflict (no directory),
   * diff_failed
   */
  namesIn(place: SavedPath, signal: AbortSignal): Promise<GuestName[]>;
  /**
   * Returns a tar archive (PAX) of what {@link compare} calls added, changed or renamed, in its later state, with
   * numeric owners and extended attributes; names begin with `./`. A renamed directory has all its content, sockets are
   * left out. A removed path, or the old name of a renamed one, is a whiteout of the OCI image specification: an empty
   * file `.wh.<name>`. The stream fails like {@link compare} when it could not read everything.
   */
  changesAsTar(comparison: Comparison, signal: AbortSignal): Readable;
  /**
   * Returns a fork's default resources; null where only the source knows them.
   * @throws MayflyError snapshot_not_found
   */
  resources(snapshotId: string): Promise<SavedResources | null>;
  list(): Promise<PresentSnapshot[]>;
}
