import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyError } from '../../model/errors.ts';
import type { MachineState } from '../../model/sandbox/machine-end.ts';
import { measureDisk } from '../disk/host-disk.ts';
import { Failpoints } from '../failpoints.ts';
import type { Clone, CloneRequest, DomainLocation, Hypervisor, Lease } from '../hypervisor.ts';
import { makePrivate } from '../os/directory.ts';
import type { StateDir } from '../state-dir.ts';
import type { StepContext } from '../step-context.ts';
import { NO_TEMPLATES } from '../templates.ts';
import { measureCapacity } from './capacity.ts';
import { DiskUsage } from './disk/disk-usage.ts';
import { consoleTail, startDomain } from './machine/domain.ts';
import { ensureDefaultImage } from './machine/image.ts';
import { SimulatedLeases, toLease } from './machine/leases.ts';
import { residentKib } from './machine/processes.ts';
import { domainPaths, makeWorkspace, readClone, removeWorkspaceTrees } from './machine/workspace.ts';
import { SimulatedMachine } from './machine.ts';
import { Origins } from './origins.ts';
import { Residue } from './residue.ts';
import { SimulatedSnapshots } from './snapshots.ts';
import { SimulatedBaking } from './source/baking.ts';
import { SimulatedCaptures } from './source/captures.ts';
import { SimulatedSources } from './source/running-source.ts';
import { SimulatedSourcePower } from './source/source-power.ts';

/** Warning for every start of a simulated host. */
const SIMULATED_WARNING =
  'SIMULATED HOST: its sandboxes are process trees on this machine, not virtual machines. They isolate NOTHING: ' +
  "they share the kernel, the network, the devices and the host's /usr. Never run code there that you do not trust.";

/** Interval of the search for ended machines, ms. */
const WATCH_MS = 500;

interface SimulatedOptions {
  state: StateDir;
  failpoints?: Failpoints;
  /** Folder of the guest agent; without it guests have none, and only their sshd answers. */
  agentFolder?: string;
}

/** {@link Hypervisor} for machines without KVM: a sandbox is a detached process tree with its own OpenSSH server. */
export class SimulatedHypervisor implements Hypervisor {
  readonly kind = 'simulated';
  readonly isolation = 'none';
  readonly uri = null;
  readonly warning = SIMULATED_WARNING;
  /** For tests and demonstrations: starts and stops sources. */
  readonly runningSources: SimulatedSources;
  readonly snapshots: SimulatedSnapshots;
  readonly baking: SimulatedBaking;
  readonly templates = NO_TEMPLATES;
  readonly captures: SimulatedCaptures;
  readonly power: SimulatedSourcePower;
  readonly #state: StateDir;
  readonly #failpoints: Failpoints;
  readonly #agentFolder: string | null;
  readonly #leases: SimulatedLeases;
  readonly #machine: SimulatedMachine;
  readonly #origins: Origins;
  readonly #residue: Residue;
  readonly #diskUsage = new DiskUsage();

  constructor(options: SimulatedOptions) {
    const { state, failpoints = Failpoints.parse(undefined), agentFolder = null } = options;
    this.#state = state;
    this.#failpoints = failpoints;
    this.#agentFolder = agentFolder;
    const machine = new SimulatedMachine(state);
    const running = new SimulatedSources(state.images);
    const snapshots = new SimulatedSnapshots({ state, failpoints, machine });
    const captures = new SimulatedCaptures({ state, failpoints, sources: running });
    this.#machine = machine;
    this.runningSources = running;
    this.snapshots = snapshots;
    this.captures = captures;
    this.power = new SimulatedSourcePower({ images: state.images, sources: running, failpoints });
    this.baking = new SimulatedBaking({ state, failpoints, builder: machine, sources: running });
    this.#origins = new Origins({ images: state.images, running, snapshots, captures });
    this.#leases = new SimulatedLeases(join(state.root, 'simulated.leases'));
    this.#residue = new Residue(machine, this.#leases);
  }

  async open(): Promise<void> {
    if (process.getuid?.() !== 0) {
      throw new MayflyError(
        'host_unavailable',
        'A simulated host makes namespaces and mounts: run its worker as root.',
      );
    }
    await makePrivate(this.#state.sandboxes);
    await ensureDefaultImage(this.#state.images);
    await this.#leases.list();
    await this.openToLook();
    // Thaws guests whose save was killed, without waiting for its saga.
    for (const sandboxId of await this.#machine.stored()) await this.snapshots.thaw(sandboxId);
    await this.captures.thawAll();
  }

  /** Opens for {@link look} and {@link marks} only: makes nothing. @throws Error when no host ever used this folder */
  async openToLook(): Promise<void> {
    await this.#machine.open();
  }

  close = async () => this.#machine.close();
  leaseFiles = () => [this.#leases.path];
  capacity = () => measureCapacity(this.#state.root);
  disk = () => measureDisk(this.#state.root);
  sources = () => this.#origins.sources();
  source = (name: string) => this.#origins.source(name);
  contentOf = (name: string, { signal }: StepContext) => this.#origins.contentOf(name, signal);
  runningSource = (name: string) => this.#origins.running(name);

  residentMib = async (sandboxId: string) => residentMibOf(await this.#machine.processes.of(sandboxId));

  async residentMibOfAll(): Promise<ReadonlyMap<string, number>> {
    const running = await this.#machine.processes.look();
    return new Map([...running].map(([sandboxId, pids]) => [sandboxId, residentMibOf(pids)]));
  }

  diskBytes = async (sandboxId: string) => this.#diskUsage.of(await this.#machine.workspace(sandboxId));
  /** Always empty: snapshots here are whole trees without referrers. */
  heldBytes = async () => new Map<string, number>();
  /** Always 0: no sandbox is hibernated here. */
  savedMemoryBytes = async () => 0;
  /** Always empty: a write without space fails in the guest. */
  stopped = async () => [];
  bootOf = async () => null;

  async cloneDisk(request: CloneRequest, { signal }: StepContext): Promise<Clone> {
    signal.throwIfAborted();
    const workspace = await this.#machine.workspace(request.sandboxId);
    const present = await readClone(workspace);
    if (present) return present;
    const copy = await this.#origins.copierOf(request);
    const onCopied = () => this.#failpoints.hit('cloneDisk', 'during', request.sandboxId, signal);
    return makeWorkspace(workspace, request, { copy, onCopied }, signal);
  }

  async bootDomain(sandboxId: string, { signal }: StepContext): Promise<void> {
    signal.throwIfAborted();
    const workspace = await this.#machine.workspace(sandboxId);
    const clone = await readClone(workspace);
    if (!clone)
      throw new MayflyError('boot_failed', `${sandboxId} has no disk on this host: it was removed, or never made.`);
    const lease = await this.#leases.acquire(clone.macAddress, sandboxId);
    await this.#failpoints.hit('bootDomain', 'during', sandboxId, signal);
    const paths = { ...domainPaths(workspace), agentFolder: this.#agentFolder };
    await startDomain(sandboxId, paths, lease.address, this.#machine.processes, signal);
  }

  /** Returns the lease of {@link bootDomain} at once. */
  async awaitLease(sandboxId: string, { signal }: StepContext): Promise<Lease> {
    signal.throwIfAborted();
    const lease = (await this.#leases.list()).find((entry) => entry.sandboxId === sandboxId);
    if (lease && (await this.#machine.isOn(sandboxId))) return toLease(lease);
    const tail = await consoleTail(domainPaths(await this.#machine.workspace(sandboxId)));
    throw new MayflyError('boot_failed', `${sandboxId} does not run any more: ${tail}`);
  }

  /** Reports a crash as `stopped`: the exit status of a process tree is lost. */
  async machines(sandboxIds: readonly string[]): Promise<ReadonlyMap<string, MachineState>> {
    const states = sandboxIds.map(async (sandboxId): Promise<[string, MachineState]> => {
      if (await this.#machine.isOn(sandboxId)) return [sandboxId, 'on'];
      return [sandboxId, (await readClone(await this.#machine.workspace(sandboxId))) ? 'stopped' : 'lost'];
    });
    return new Map(await Promise.all(states));
  }

  /** Polls for ended machines: the kernel notifies only a parent. */
  async *watch(signal: AbortSignal): AsyncGenerator<void> {
    while (!signal.aborted) {
      await sleep(WATCH_MS, undefined, { signal }).catch(() => undefined); // the abort ends the loop
      if (!signal.aborted && this.#machine.someEnded()) yield;
    }
  }

  async whereabouts(sandboxId: string): Promise<DomainLocation> {
    const clone = await readClone(await this.#machine.workspace(sandboxId));
    if (!clone) return { domain: 'absent', lease: null };
    const [leases, isOn] = await Promise.all([this.#leases.list(), this.#machine.isOn(sandboxId)]);
    const leased = leases.find((entry) => entry.macAddress === clone.macAddress && entry.sandboxId === sandboxId);
    const lease = leased ? toLease(leased) : null;
    if (!isOn) return { domain: 'off', lease };
    const isPaused = await (await this.#machine.suspension(sandboxId)).isPaused();
    return { domain: isPaused ? 'paused' : 'running', lease };
  }

  async pause(sandboxId: string): Promise<void> {
    const suspension = await this.#machine.suspension(sandboxId);
    await suspension.pause(() => this.#failpoints.hit('pause', 'during', sandboxId));
  }

  async resume(sandboxId: string): Promise<void> {
    const suspension = await this.#machine.suspension(sandboxId);
    await suspension.resume(() => this.#failpoints.hit('resume', 'during', sandboxId));
  }

  async hibernate(sandboxId: string): Promise<void> {
    throw new MayflyError(
      'hibernation_unsupported',
      `${sandboxId} is a process tree on a simulated host: it has no memory that could be saved.`,
    );
  }

  /** Pauses or resumes: nothing is ever hibernated here. */
  async wake(sandboxId: string, wished: 'running' | 'paused'): Promise<void> {
    await (wished === 'paused' ? this.pause(sandboxId) : this.resume(sandboxId));
  }

  async removeDomain(sandboxId: string): Promise<void> {
    await this.#machine.stop(sandboxId);
    await (await this.#machine.suspension(sandboxId)).forget();
    await this.#failpoints.hit('removeDomain', 'during', sandboxId);
  }

  releaseLease = (sandboxId: string) => this.#leases.release(sandboxId);

  async removeWorkspace(sandboxId: string): Promise<void> {
    await this.#failpoints.hit('removeWorkspace', 'during', sandboxId);
    await removeWorkspaceTrees(await this.#machine.workspace(sandboxId));
  }

  look = (sandboxId: string) => this.#residue.look(sandboxId);
  marks = () => this.#residue.marks();
}

function residentMibOf(pids: readonly number[]): number {
  const kib = pids.reduce((sum, pid) => sum + residentKib(pid), 0);
  return Math.ceil(kib / 1024);
}
