import type { Capacity, HostKind, SourceInfo } from '../model/host.ts';
import type { MachineState } from '../model/sandbox/machine-end.ts';
import type { Observation } from '../model/sandbox/proof.ts';
import type { Boot, Egress, RequestedBoot } from '../model/sandbox/sandbox.ts';
import type { HostDisk } from '../model/snapshots/storage.ts';
import type { HostBaking } from './baking.ts';
import type { HostCaptures } from './captures.ts';
import type { RunningSource } from './console.ts';
import type { HostSnapshots } from './snapshots.ts';
import type { SourcePower } from './source-power.ts';
import type { StepContext } from './step-context.ts';
import type { HostTemplates } from './templates.ts';

export interface CloneRequest {
  sandboxId: string;
  source: string;
  /** Snapshot of this host to clone from; null: the source itself. */
  snapshotId: string | null;
  /** Capture of the source to clone from, instead of its current disks. */
  captureId?: string | null;
  cpus: number | null;
  memoryMib: number | null;
  egress: Egress;
  /** OpenSSH public keys, one per line, that the guest's sshd trusts as user CAs. */
  userCaKeys: string[];
  /** Permission to wake from a template of the source. `@default` cold */
  boot?: RequestedBoot;
  /** Project of the templates. `@default` wakes from no template */
  project?: string;
  /** Starts with its network cable disconnected: the builder of a template. `@default` false */
  isOffline?: boolean;
}

export interface Clone {
  /** SSH host key of the guest, generated and seeded by the host: one OpenSSH public key line. */
  hostKey: string;
  macAddress: string;
  user: string;
  /** Key of the template it would have woken from, had that existed; null or absent: none fits. */
  templateKey?: string | null;
}

/** DHCP lease (or its simulated twin) of the expected MAC. */
export interface Lease {
  address: string;
  port: number;
  macAddress: string;
  /** Time of detection, ISO 8601. */
  noticedAt: string;
}

/** Current state of a sandbox, read from the machine and not from records. */
export interface DomainLocation {
  domain: 'running' | 'paused' | 'hibernated' | 'off' | 'absent';
  /** Lease of the domain's MAC; null when there is none, or it has expired. */
  lease: Lease | null;
}

/** Residue on the machine that bears a sandbox's name. */
export interface Mark {
  sandboxId: string;
  observation: Observation;
}

/**
 * Driver of one machine that can hold sandboxes. Every method that changes something is idempotent: it inspects, adds
 * missing parts, and succeeds when the desired state holds, so it may be repeated at any time, also after a crash
 * halfway. Removing an absent thing succeeds.
 *
 * Errors are {@link MayflyError}s: `host_unavailable` when the machine's service does not answer (retry), the code of
 * the step otherwise. An aborted signal rejects with the signal's reason.
 */
export interface Hypervisor {
  readonly kind: HostKind;
  readonly isolation: 'kvm' | 'tcg' | 'none';
  /** libvirt connection URI, for people and their tools; null without libvirt. */
  readonly uri: string | null;
  readonly snapshots: HostSnapshots;
  readonly baking: HostBaking;
  readonly captures: HostCaptures;
  readonly templates: HostTemplates;
  readonly power: SourcePower;
  /** Returns the lease files, for people and their tools. */
  leaseFiles(): string[];

  /** Makes the machine ready: service reachable, network defined, active and isolated. */
  open(): Promise<void>;
  /** Releases what this process holds. Sandboxes stay. */
  close(): Promise<void>;

  capacity(): Promise<Capacity>;
  /** Returns the usage of the sandboxes' file system, by one system call. */
  disk(): Promise<HostDisk>;
  sources(): Promise<SourceInfo[]>;
  /** @throws MayflyError source_not_found */
  source(name: string): Promise<SourceInfo>;
  /**
   * Digests the source's disks, in seconds to minutes. @returns the same on every host for the same files; null where
   * no digest can be made, e.g. of a block device @throws MayflyError source_not_found, source_running, clone_failed
   */
  contentOf(source: string, context: StepContext): Promise<string | null>;
  /** Returns console access for preparing the source. @throws MayflyError source_not_found, source_not_running */
  runningSource(name: string): Promise<RunningSource>;
  /** Returns the resident memory of one sandbox, MiB; 0 when it does not run. */
  residentMib(sandboxId: string): Promise<number>;
  /** Returns the resident memory of all running sandboxes, without a program each. Unreadable ones are left out. */
  residentMibOfAll(): Promise<ReadonlyMap<string, number>>;
  /** Returns the disk allocated to one sandbox, bytes. System calls only: called for every one every few seconds. */
  diskBytes(sandboxId: string): Promise<number>;
  /**
   * Returns the bytes of deleted snapshots that are still referenced, by the sandbox charged with them. They belong to
   * no reservation, so they are not in {@link diskBytes}: a sandbox may still grow as far above them.
   */
  heldBytes(): Promise<ReadonlyMap<string, number>>;
  /** Returns the part of {@link diskBytes} that is saved memory of a hibernated sandbox; waking it frees that part. */
  savedMemoryBytes(sandboxId: string): Promise<number>;
  /** Returns sandboxes suspended by QEMU after a write found no space; {@link resume} repeats the write. */
  stopped(): Promise<string[]>;

  /** @throws MayflyError source_not_found, source_running, source_unsafe, source_changed, clone_failed, snapshot_not_found, capture_not_found */
  cloneDisk(request: CloneRequest, context: StepContext): Promise<Clone>;
  /**
   * Boots cold from fresh disks when waking from its template fails, unless only the template is wanted.
   * @throws MayflyError boot_failed, address_conflict, host_disk_full, template_unavailable
   */
  bootDomain(sandboxId: string, context: StepContext): Promise<void>;
  /** Returns the kind of boot; null where none is recorded. */
  bootOf(sandboxId: string): Promise<Boot | null>;
  /** Resolves within 100 ms of the lease appearing. @throws MayflyError boot_failed when the domain dies first */
  awaitLease(sandboxId: string, context: StepContext): Promise<Lease>;

  /** Stops its CPUs; memory stays. @throws MayflyError sandbox_not_running when it is off or gone */
  pause(sandboxId: string): Promise<void>;
  /** Resumes its CPUs. @throws MayflyError sandbox_not_running when it is off or gone */
  resume(sandboxId: string): Promise<void>;

  /**
   * Writes the memory of a running or paused sandbox to disk, and frees its CPUs and RAM.
   * @throws MayflyError sandbox_not_running when it is off or gone, hibernate_failed, hibernation_unsupported
   */
  hibernate(sandboxId: string, context: StepContext): Promise<void>;
  /**
   * Resumes from the saved memory, never by a cold boot; the address may change. @throws MayflyError
   * sandbox_not_running when it is off or gone, wake_failed when its memory cannot be read
   */
  wake(sandboxId: string, wished: 'running' | 'paused', context: StepContext): Promise<void>;

  /**
   * Returns the states of these machines in one inspection. A machine that a running operation has turned off is
   * reported as off: only its workflow knows.
   */
  machines(sandboxIds: readonly string[]): Promise<ReadonlyMap<string, MachineState>>;
  /**
   * Yields when a machine may have ended, and when events may have been missed; the caller checks with
   * {@link machines}. Ends when the signal is aborted.
   */
  watch(signal: AbortSignal): AsyncIterable<void>;

  /** Reads the current domain and lease, before each connection: an address may have moved. Takes milliseconds. */
  whereabouts(sandboxId: string): Promise<DomainLocation>;

  removeDomain(sandboxId: string): Promise<void>;
  releaseLease(sandboxId: string): Promise<void>;
  removeWorkspace(sandboxId: string): Promise<void>;

  look(sandboxId: string): Promise<Observation[]>;
  /** Returns all residue that bears any sandbox's name, in the layers domain, lease and workspace. */
  marks(): Promise<Mark[]>;
}
