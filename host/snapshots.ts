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
  /** Names this one revert: 1 to 64 of `a-z0-9-`. */
  restoreId: string;
}

export interface Comparison {
  /** Ids of two snapshots of this host, of one sandbox or of two. */
  before: string;
  after: string;
  /** Absolute paths: only these files, and what is below them, are looked at; [] for all. */
  within: readonly GuestName[];
}

export interface SavedPlace {
  snapshotId: string;
  /** Absolute. Taken as it is: symbolic links are not followed. */
  path: GuestName;
}

export interface SavedFileRequest extends SavedPlace {
  /** At most so many of its first bytes are given. */
  maxBytes: number;
}

export interface SavedResources {
  cpus: number;
  memoryMib: number;
}

export interface KeptSnapshot {
  snapshotId: string;
  /** `half`: a save has not ended. `kept`: it is deleted, and something refers to it. */
  state: 'whole' | 'half' | 'kept';
}

/**
 * The snapshots of one machine. As with {@link Hypervisor}, every method that changes something is an "ensure", and
 * "remove" of what is not there succeeds.
 */
export interface HostSnapshots {
  /**
   * At one moment, its file systems quiesced where the guest can; it goes on writing to a new layer. @throws
   * MayflyError snapshot_failed, sandbox_not_running (neither running nor paused), snapshot_unsupported
   */
  save(request: SaveRequest, context: StepContext): Promise<void>;
  /** Ends a quiesce that a save left behind; also when there was none, or no sandbox. */
  thaw(sandboxId: string): Promise<void>;
  /**
   * Checks what was saved (`qemu-img check`, digest), makes it read-only, and says what it is. Repeated, it compares all that
   * the snapshot consists of with what was found then.
   * @throws MayflyError snapshot_failed; when repeated also source_changed, snapshot_not_found
   */
  verify(snapshotId: string, context: StepContext): Promise<SavedSnapshot>;
  /**
   * Takes a snapshot away. What something else (a workspace, another snapshot) refers to stays, hidden, until that is
   * gone; then whoever removes that frees it.
   */
  remove(snapshotId: string): Promise<{ keptFor: string | null }>;
  /**
   * Of a domain that is off; what it had written since is gone. Keyed by sandbox and restore: repeated, it does
   * nothing; one that fails has changed nothing. @throws MayflyError restore_failed, snapshot_not_found
   */
  revert(request: RevertRequest, context: StepContext): Promise<void>;
  /** How many snapshots the sandbox's disks refer to, one below the other; 0 when it is not there. */
  chainLength(sandboxId: string): Promise<number>;
  /**
   * Makes the disks of a running or paused sandbox refer to its source alone, while it goes on: what they read from
   * snapshots is copied. The snapshots stay as they are. Stopped by its signal, the disks refer to what they referred to.
   * @throws MayflyError flatten_failed (no room on the host among it), sandbox_not_running
   */
  flatten(sandboxId: string, context: StepContext): Promise<void>;
  /**
   * As {@link flatten}, of the deleted snapshots alone that lie above all others. @returns how many its disks refer to
   * no more @throws MayflyError flatten_failed, sandbox_not_running
   */
  mergeDeleted(sandboxId: string, context: StepContext): Promise<number>;
  /**
   * What differs between two snapshots: of the disk that their machine boots from, its file system. Both stay as they
   * are, and are there until the last line. What is said of them was written by guests.
   * @throws MayflyError snapshot_not_found, snapshot_not_ready, diff_failed, after any number of lines
   */
  compare(comparison: Comparison, signal: AbortSignal): AsyncIterable<FileChangeRecord>;
  /**
   * The first bytes of a regular file of a snapshot, and how long it is.
   * @throws MayflyError snapshot_not_found, snapshot_not_ready, file_not_found, file_conflict (no regular file), diff_failed
   */
  readFile(request: SavedFileRequest, signal: AbortSignal): Promise<{ content: Buffer; size: number }>;
  /**
   * The names in a directory of a snapshot, in no order; its path is taken as it is.
   * @throws MayflyError snapshot_not_found, snapshot_not_ready, file_not_found, file_conflict (no directory), diff_failed
   */
  namesIn(place: SavedPlace, signal: AbortSignal): Promise<GuestName[]>;
  /**
   * A tar archive (PAX) of what {@link compare} calls added, changed or renamed, in its later state, with numeric owners
   * and extended attributes; names begin with `./`. A renamed directory is there with all its content, sockets are not.
   * What was removed, or is now called otherwise, is there as a whiteout of the OCI image specification: an empty file
   * `.wh.<name>`. The stream fails like {@link compare} when not all of it could be read.
   */
  changesAsTar(comparison: Comparison, signal: AbortSignal): Readable;
  /**
   * What a fork has unless other is wished; null where only the source says that.
   * @throws MayflyError snapshot_not_found
   */
  resources(snapshotId: string): Promise<SavedResources | null>;
  list(): Promise<KeptSnapshot[]>;
}
