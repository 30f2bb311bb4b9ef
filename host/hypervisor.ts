import type { Capacity, HostKind, SourceInfo } from '../model/host.ts';
import type { MachineState } from '../model/sandbox/machine-end.ts';
import type { Observation } from '../model/sandbox/proof.ts';
import type { Boot, BootWish, Egress } from '../model/sandbox/sandbox.ts';
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
  /** The snapshot of this host to clone from, instead of the source; null: the source itself. */
  snapshotId: string | null;
  /** The capture of the source to clone from, instead of the source as it is. */
  captureId?: string | null;
  cpus: number | null;
  memoryMib: number | null;
  egress: Egress;
  /** Lines of OpenSSH public keys that the guest's sshd trusts as user CAs. */
  userCaKeys: string[];
  /** Whether it may wake from a template of the source. `@default` cold */
  boot?: BootWish;
  /** Whose templates. `@default` it wakes from none */
  project?: string;
  /** It has its cable out from the beginning: the builder of a template. `@default` false */
  isOffline?: boolean;
}

export interface Clone {
  /** The guest's SSH host key, made by the host and seeded: one OpenSSH public key line. */
  hostKey: string;
  macAddress: string;
  user: string;
  /** The template that it would have woken from, had there been one; null, or absent: none would do. */
  templateKey?: string | null;
}

/** A DHCP lease (or its simulated twin) that was seen for the expected MAC. */
export interface Lease {
  address: string;
  port: number;
  macAddress: string;
  /** When it was noticed, ISO 8601. */
  noticedAt: string;
}

/** Where a sandbox is right now: read from the machine, not from what was once written down. */
export interface Whereabouts {
  domain: 'running' | 'paused' | 'hibernated' | 'off' | 'absent';
  /** For the MAC that its domain has; null when there is none, or it has run out. */
  lease: Lease | null;
}

/** Something on the machine that carries a sandbox's name. */
export interface Mark {
  sandboxId: string;
  observation: Observation;
}

/**
 * One machine that can hold sandboxes. Every method that changes something is an "ensure": it looks, acts on what
 * is missing, and succeeds when the wished state holds, whoever brought it about; so each may be repeated at any
 * time, also after a crash in its middle. "Remove" of what is not there succeeds.
 *
 * Errors are {@link MayflyError}s: `host_unavailable` when the machine's service does not answer (retry), the
 * code of the step otherwise. An aborted signal rejects with the signal's reason.
 */
export interface Hypervisor {
  readonly kind: HostKind;
  readonly isolation: 'kvm' | 'tcg' | 'none';
  /** libvirt connection URI, for people and their tools; null where there is no libvirt. */
  readonly uri: string | null;
  readonly snapshots: HostSnapshots;
  readonly baking: HostBaking;
  readonly captures: HostCaptures;
  readonly templates: HostTemplates;
  readonly power: SourcePower;
  /** The files in which leases stand, for people and their tools. */
  leaseFiles(): string[];

  /** Makes the machine ready: service reachable, network defined, active and closed off. */
  open(): Promise<void>;
  /** Lets go of what this process holds. Sandboxes stay. */
  close(): Promise<void>;

  capacity(): Promise<Capacity>;
  /** The file system of its sandboxes, by one call to the kernel. */
  disk(): Promise<HostDisk>;
  sources(): Promise<SourceInfo[]>;
  /** @throws MayflyError source_not_found */
  source(name: string): Promise<SourceInfo>;
  /**
   * Takes seconds to minutes. @returns the same on every host for the same files; null where that can't be told, as of
   * a block device @throws MayflyError source_not_found, source_running, clone_failed
   */
  contentOf(source: string, context: StepContext): Promise<string | null>;
  /** Its way in for preparing it. @throws MayflyError source_not_found, source_not_running */
  runningSource(name: string): Promise<RunningSource>;
  /** Memory that one sandbox has grown into; 0 when it does not run. */
  residentMib(sandboxId: string): Promise<number>;
  /** The same of all that run, by sandbox id, in one look: it costs no program for each. What can't be told is left out. */
  residentMibOfAll(): Promise<ReadonlyMap<string, number>>;
  /** Disk that one sandbox has grown into. Asks nobody but the kernel: it is called for every sandbox, every few seconds. */
  diskBytes(sandboxId: string): Promise<number>;
  /**
   * What stays of deleted snapshots, since something refers to it: by the sandbox that it counts to, bytes. It is part of
   * no promise, so it is not in {@link diskBytes}: a sandbox may still grow as far above it.
   */
  heldBytes(): Promise<ReadonlyMap<string, number>>;
  /** What of {@link diskBytes} is the memory of one that is hibernated, and is freed when it is woken. */
  savedMemoryBytes(sandboxId: string): Promise<number>;
  /** Sandboxes whose CPUs the machine itself has stopped since a write of theirs found no room; {@link resume} repeats it. */
  stopped(): Promise<string[]>;

  /** @throws MayflyError source_not_found, source_running, source_unsafe, source_changed, clone_failed, snapshot_not_found, capture_not_found */
  cloneDisk(request: CloneRequest, context: StepContext): Promise<Clone>;
  /**
   * One that does not wake from its template boots cold, of fresh disks, unless the template alone is wanted. @throws
   * MayflyError boot_failed, address_conflict, host_disk_full, template_unavailable
   */
  bootDomain(sandboxId: string, context: StepContext): Promise<void>;
  /** How it came to its machine; null before {@link bootDomain}, and of what is older than templates. */
  bootOf(sandboxId: string): Promise<Boot | null>;
  /** Resolves within 100 ms of the lease being there. @throws MayflyError boot_failed when the domain died meanwhile */
  awaitLease(sandboxId: string, context: StepContext): Promise<Lease>;

  /** Stops its CPUs; its memory is kept. @throws MayflyError sandbox_not_running when it is off or gone */
  pause(sandboxId: string): Promise<void>;
  /** Lets it go on. @throws MayflyError sandbox_not_running when it is off or gone */
  resume(sandboxId: string): Promise<void>;

  /**
   * Writes its memory to this machine's disk and lets go of its processors and its RAM, whether it runs or is paused.
   * @throws MayflyError sandbox_not_running when it is off or gone, hibernate_failed, hibernation_unsupported
   */
  hibernate(sandboxId: string, context: StepContext): Promise<void>;
  /**
   * Goes on from the memory that was saved, never from anything else; its address may be another then. @throws
   * MayflyError sandbox_not_running when it is off or gone, wake_failed when its memory cannot be read
   */
  wake(sandboxId: string, wished: 'running' | 'paused', context: StepContext): Promise<void>;

  /**
   * How the machines of these sandboxes are, in one look however many they are. One that an operation of ours has off for
   * a while is reported as it is: only its workflow knows.
   */
  machines(sandboxIds: readonly string[]): Promise<ReadonlyMap<string, MachineState>>;
  /**
   * Yields when a machine may have ended, and when that may have been missed: then it is for {@link machines} to say.
   * Ends when the signal is aborted.
   */
  watch(signal: AbortSignal): AsyncIterable<void>;

  /** Asked before every connection: an address may have changed hands since the last. Takes milliseconds. */
  whereabouts(sandboxId: string): Promise<Whereabouts>;

  removeDomain(sandboxId: string): Promise<void>;
  releaseLease(sandboxId: string): Promise<void>;
  removeWorkspace(sandboxId: string): Promise<void>;

  look(sandboxId: string): Promise<Observation[]>;
  /** Everything on the machine that carries the name of any sandbox, in the layers domain, lease and workspace. */
  marks(): Promise<Mark[]>;
}
