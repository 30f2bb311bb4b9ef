import { mkdir, readdir, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyError } from '../../model/errors.ts';
import type { Capacity, SourceInfo } from '../../model/host.ts';
import { isSandboxId } from '../../model/ids.ts';
import type { Observation } from '../../model/proof.ts';
import type { HostDisk } from '../../model/storage.ts';
import { diskOf } from '../disk/host-disk.ts';
import { Failpoints } from '../failpoints.ts';
import type { Clone, CloneRequest, Hypervisor, Lease, Mark, StepContext, Whereabouts } from '../hypervisor.ts';
import type { RunningSource } from '../source/console.ts';
import type { StateDir } from '../state-dir.ts';
import { SimulatedBaking } from './baking.ts';
import { measureCapacity } from './capacity.ts';
import { SimulatedCaptures } from './captures.ts';
import { DiskUsage } from './disk-usage.ts';
import { BOOT_SCRIPT, consoleTail, killDomain, startDomain } from './domain.ts';
import { ensureDefaultImage, imageRoot, listImages, readImage } from './image.ts';
import { GUEST_PORT, SimulatedLeases } from './leases.ts';
import { lookAt } from './look.ts';
import { ProcessTable, residentKib } from './processes.ts';
import { SimulatedSources } from './running-source.ts';
import { SimulatedSnapshots } from './snapshots.ts';
import { Suspension } from './suspension.ts';
import { copyTree } from './tree.ts';
import { type DiskCopy, domainPaths, makeWorkspace, readClone, removeWorkspaceTrees } from './workspace.ts';

/** To be shown wherever a simulated host is started. */
export const SIMULATED_WARNING =
  'SIMULATED HOST: its sandboxes are process trees on this machine, not virtual machines. They isolate NOTHING: ' +
  "they share the kernel, the network, the devices and the host's /usr. Never run code there that you do not trust.";

const POLL_MS = 50;
const RUNNING = 'It is running, so its disk is being written.';

export interface SimulatedOptions {
  state: StateDir;
  failpoints?: Failpoints;
  /** Folder of the guest agent; without it guests have none, and only their sshd answers. */
  agentFolder?: string;
}

/** A {@link Hypervisor} for machines without KVM: a sandbox is a detached process tree with an OpenSSH server of its own. */
export class SimulatedHypervisor implements Hypervisor {
  readonly kind = 'simulated';
  readonly isolation = 'none';
  readonly uri = null;
  readonly warning = SIMULATED_WARNING;
  /** For tests and demonstrations: starts and stops sources. */
  readonly runningSources: SimulatedSources;
  readonly snapshots: SimulatedSnapshots;
  readonly baking: SimulatedBaking;
  readonly captures: SimulatedCaptures;
  readonly #state: StateDir;
  readonly #failpoints: Failpoints;
  readonly #agentFolder: string | null;
  readonly #leases: SimulatedLeases;
  readonly #diskUsage = new DiskUsage();
  #processTable: ProcessTable | null = null;

  constructor(options: SimulatedOptions) {
    this.#state = options.state;
    this.#failpoints = options.failpoints ?? Failpoints.parse(undefined);
    this.runningSources = new SimulatedSources(options.state.images);
    this.#agentFolder = options.agentFolder ?? null;
    const { runningSources: sources } = this;
    this.captures = new SimulatedCaptures({ state: options.state, failpoints: this.#failpoints, sources });
    this.snapshots = new SimulatedSnapshots({
      state: options.state,
      failpoints: this.#failpoints,
      machine: {
        isOn: async (sandboxId) => (await this.#processes.of(sandboxId)).length > 0,
        suspension: (sandboxId) => this.#suspension(sandboxId),
        workspace: (sandboxId) => this.#workspace(sandboxId),
      },
    });
    this.baking = new SimulatedBaking({
      state: options.state,
      failpoints: this.#failpoints,
      builder: {
        isOn: async (sandboxId) => (await this.#processes.of(sandboxId)).length > 0,
        stop: (sandboxId) => killDomain(sandboxId, this.#processes),
        workspace: (sandboxId) => this.#workspace(sandboxId),
      },
      isRunning: (source) => this.runningSources.isRunning(source),
    });
    this.#leases = new SimulatedLeases(join(options.state.root, 'simulated.leases'));
  }

  async open(): Promise<void> {
    if (process.getuid?.() !== 0) {
      throw new MayflyError(
        'host_unavailable',
        'A simulated host makes namespaces and mounts: run its worker as root.',
      );
    }
    await mkdir(this.#state.sandboxes, { recursive: true, mode: 0o711 });
    await ensureDefaultImage(this.#state.images);
    await this.#leases.list();
    await this.openToLook();
    // What saved one has been killed: its guest shall not stand still until its saga comes by.
    for (const sandboxId of await this.#stored()) await this.snapshots.thaw(sandboxId);
    await this.captures.thawAll();
  }

  /** Enough for {@link look} and {@link marks}: makes nothing. @throws Error when there never was a host in this folder */
  async openToLook(): Promise<void> {
    this.#processTable = new ProcessTable(await realpath(this.#state.sandboxes), BOOT_SCRIPT);
  }

  async close(): Promise<void> {
    this.#processTable = null;
  }

  leaseFiles(): string[] {
    return [this.#leases.path];
  }

  async capacity(): Promise<Capacity> {
    return measureCapacity(this.#state.root);
  }

  async disk(): Promise<HostDisk> {
    return diskOf(this.#state.root);
  }

  async sources(): Promise<SourceInfo[]> {
    return Promise.all((await listImages(this.#state.images)).map((source) => this.#asItRuns(source)));
  }

  async source(name: string): Promise<SourceInfo> {
    return this.#asItRuns(await readImage(this.#state.images, name));
  }

  async runningSource(name: string): Promise<RunningSource> {
    const { name: known } = await readImage(this.#state.images, name);
    return this.runningSources.running(known);
  }

  async usage(sandboxId: string): Promise<{ memoryMib: number; diskBytes: number }> {
    const pids = await this.#processes.of(sandboxId);
    const kib = pids.reduce((sum, pid) => sum + residentKib(pid), 0);
    return { memoryMib: Math.ceil(kib / 1024), diskBytes: await this.diskBytes(sandboxId) };
  }

  async diskBytes(sandboxId: string): Promise<number> {
    return this.#diskUsage.of(await this.#workspace(sandboxId));
  }

  /** Here snapshots are whole trees, on which nothing leans. */
  async heldBytes(): Promise<ReadonlyMap<string, number>> {
    return new Map();
  }

  /** Here no sandbox is hibernated. */
  async savedMemoryBytes(): Promise<number> {
    return 0;
  }

  /** Here a write that finds no room fails in the guest, and is its own to repeat. */
  async stopped(): Promise<string[]> {
    return [];
  }

  async cloneDisk(request: CloneRequest, { signal }: StepContext): Promise<Clone> {
    signal.throwIfAborted();
    const workspace = await this.#workspace(request.sandboxId);
    const present = await readClone(workspace);
    if (present) return present;
    const copy = await this.#copierOf(request);
    const onCopied = () => this.#failpoints.hit('cloneDisk', 'during', signal);
    return makeWorkspace(workspace, request, { copy, onCopied }, signal);
  }

  async bootDomain(sandboxId: string, { signal }: StepContext): Promise<void> {
    signal.throwIfAborted();
    const workspace = await this.#workspace(sandboxId);
    const clone = await readClone(workspace);
    if (!clone)
      throw new MayflyError('boot_failed', `${sandboxId} has no disk on this host: it was removed, or never made.`);
    const lease = await this.#leases.acquire(clone.macAddress, sandboxId);
    await this.#failpoints.hit('bootDomain', 'during', signal);
    const paths = { ...domainPaths(workspace), agentFolder: this.#agentFolder };
    await startDomain(sandboxId, paths, lease.address, this.#processes, signal);
  }

  async awaitLease(sandboxId: string, context: StepContext): Promise<Lease> {
    const { signal } = context;
    const workspace = await this.#workspace(sandboxId);
    for (;;) {
      signal.throwIfAborted();
      if ((await this.#processes.of(sandboxId)).length === 0) {
        const tail = await consoleTail(domainPaths(workspace));
        throw new MayflyError('boot_failed', `${sandboxId} does not run any more: ${tail}`);
      }
      const lease = (await this.#leases.list()).find((entry) => entry.sandboxId === sandboxId);
      const noticedAt = new Date().toISOString();
      if (lease) return { address: lease.address, port: GUEST_PORT, macAddress: lease.macAddress, noticedAt };
      context.alive(`no lease of ${sandboxId} in ${this.#leases.path} yet`);
      await sleep(POLL_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }

  async whereabouts(sandboxId: string): Promise<Whereabouts> {
    const clone = await readClone(await this.#workspace(sandboxId));
    if (!clone) return { domain: 'absent', lease: null };
    const [leases, pids] = await Promise.all([this.#leases.list(), this.#processes.of(sandboxId)]);
    const noticedAt = new Date().toISOString();
    const leased = leases.find((entry) => entry.macAddress === clone.macAddress && entry.sandboxId === sandboxId);
    const lease = leased && { address: leased.address, port: GUEST_PORT, macAddress: leased.macAddress, noticedAt };
    if (pids.length === 0) return { domain: 'off', lease: lease ?? null };
    const isPaused = await (await this.#suspension(sandboxId)).isPaused();
    return { domain: isPaused ? 'paused' : 'running', lease: lease ?? null };
  }

  async pause(sandboxId: string): Promise<void> {
    const suspension = await this.#suspension(sandboxId);
    await suspension.pause(() => this.#failpoints.hit('pause', 'during'));
  }

  async resume(sandboxId: string): Promise<void> {
    const suspension = await this.#suspension(sandboxId);
    await suspension.resume(() => this.#failpoints.hit('resume', 'during'));
  }

  async hibernate(sandboxId: string): Promise<void> {
    throw new MayflyError(
      'hibernation_unsupported',
      `${sandboxId} is a process tree on a simulated host: it has no memory that could be saved.`,
    );
  }

  /** None is hibernated here, so there is only what is paused. */
  async wake(sandboxId: string, wished: 'running' | 'paused'): Promise<void> {
    await (wished === 'paused' ? this.pause(sandboxId) : this.resume(sandboxId));
  }

  async removeDomain(sandboxId: string): Promise<void> {
    await killDomain(sandboxId, this.#processes);
    await (await this.#suspension(sandboxId)).forget();
    await this.#failpoints.hit('removeDomain', 'during');
  }

  async releaseLease(sandboxId: string): Promise<void> {
    await this.#leases.release(sandboxId);
  }

  async removeWorkspace(sandboxId: string): Promise<void> {
    await this.#failpoints.hit('removeWorkspace', 'during');
    await removeWorkspaceTrees(await this.#workspace(sandboxId));
  }

  async look(sandboxId: string): Promise<Observation[]> {
    const [processes, leases] = [this.#processes, this.#leases];
    return lookAt(sandboxId, await this.#workspace(sandboxId), { processes, leases });
  }

  async marks(): Promise<Mark[]> {
    const running = [...(await this.#processes.look()).keys()];
    const leased = (await this.#leases.list()).map((lease) => lease.sandboxId);
    const looks = [...new Set([...running, ...leased, ...(await this.#stored())])].map(async (sandboxId) => {
      const found = (await this.look(sandboxId)).filter((observation) => !observation.absent);
      return found.map((observation) => ({ sandboxId, observation }));
    });
    return (await Promise.all(looks)).flat();
  }

  /** @throws MayflyError source_not_found, source_running, source_unsafe */
  async #copierOf({ source: name, snapshotId, captureId }: CloneRequest): Promise<DiskCopy> {
    if (captureId) return (to, signal) => this.captures.copy(captureId, to, signal);
    if (snapshotId !== null) return (to, signal) => this.snapshots.copy(snapshotId, to, signal, null);
    const source = await this.source(name);
    if (source.problem === RUNNING) throw new MayflyError('source_running', `${source.name}: ${RUNNING}`);
    if (!source.cloneable) throw new MayflyError('source_unsafe', source.problem ?? `${source.name} cannot be cloned.`);
    return (to, signal) => copyTree(imageRoot(this.#state.images, source.name), to, signal);
  }

  async #asItRuns(source: SourceInfo): Promise<SourceInfo> {
    if (!source.cloneable || !(await this.runningSources.isRunning(source.name))) return source;
    return { ...source, cloneable: false, problem: RUNNING };
  }

  async #stored(): Promise<string[]> {
    return (await readdir(this.#state.sandboxes)).map((name) => name.replace(/\.new$/, '')).filter(isSandboxId);
  }

  async #suspension(sandboxId: string): Promise<Suspension> {
    return new Suspension(sandboxId, await this.#workspace(sandboxId), this.#processes);
  }

  get #processes(): ProcessTable {
    if (this.#processTable) return this.#processTable;
    throw new MayflyError('host_unavailable', 'The simulated host is not open.');
  }

  /** Without symbolic links, as the kernel shows it in /proc. */
  async #workspace(sandboxId: string): Promise<string> {
    return join(await realpath(this.#state.sandboxes), basename(this.#state.workspace(sandboxId)));
  }
}
