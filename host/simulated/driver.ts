import { mkdir, readdir, readFile, realpath, statfs } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyError } from '../../model/errors.ts';
import type { Capacity, SourceInfo } from '../../model/host.ts';
import { isSandboxId } from '../../model/ids.ts';
import type { Layer, Observation } from '../../model/proof.ts';
import { entriesOf } from '../directory.ts';
import { Failpoints } from '../failpoints.ts';
import type { Clone, CloneRequest, Hypervisor, Lease, Mark, StepContext, Whereabouts } from '../hypervisor.ts';
import type { RunningSource } from '../source/console.ts';
import type { StateDir } from '../state-dir.ts';
import { DiskUsage } from './disk-usage.ts';
import { BOOT_SCRIPT, consoleTail, killDomain, startDomain } from './domain.ts';
import { ensureDefaultImage, imageRoot, listImages, readImage } from './image.ts';
import { GUEST_PORT, SimulatedLeases } from './leases.ts';
import { ProcessTable, residentKib } from './processes.ts';
import { SimulatedSources } from './running-source.ts';
import { domainPaths, makeWorkspace, readClone, removeWorkspaceTrees } from './workspace.ts';

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
    const memory = await readFile('/proc/meminfo', 'utf8');
    const disk = await statfs(this.#state.root);
    return {
      cpus: availableParallelism(),
      memoryTotalMib: meminfoMib(memory, 'MemTotal'),
      memoryAvailableMib: meminfoMib(memory, 'MemAvailable'),
      diskTotalBytes: disk.blocks * disk.bsize,
      diskAvailableBytes: disk.bavail * disk.bsize,
    };
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
    return { memoryMib: Math.ceil(kib / 1024), diskBytes: await this.#diskUsage.of(await this.#workspace(sandboxId)) };
  }

  async cloneDisk(request: CloneRequest, { signal }: StepContext): Promise<Clone> {
    signal.throwIfAborted();
    const workspace = await this.#workspace(request.sandboxId);
    const present = await readClone(workspace);
    if (present) return present;
    const source = await this.source(request.source);
    if (source.problem === RUNNING) throw new MayflyError('source_running', `${source.name}: ${RUNNING}`);
    if (!source.cloneable) throw new MayflyError('source_unsafe', source.problem ?? `${source.name} cannot be cloned.`);
    const image = imageRoot(this.#state.images, source.name);
    return makeWorkspace(workspace, image, request, signal, () => this.#failpoints.hit('cloneDisk', 'during', signal));
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
    return { domain: pids.length > 0 ? 'running' : 'off', lease: lease ?? null };
  }

  async removeDomain(sandboxId: string): Promise<void> {
    await killDomain(sandboxId, this.#processes);
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
    const workspace = await this.#workspace(sandboxId);
    const pids = await this.#processes.of(sandboxId);
    const leases = (await this.#leases.list()).filter((lease) => lease.sandboxId === sandboxId);
    const trees: string[] = [];
    for (const path of [workspace, `${workspace}.new`]) if ((await entriesOf(path)) !== null) trees.push(path);
    return [
      observed('domain', '/proc/*/root and /proc/*/cmdline', pids.map(String)),
      observed(
        'lease',
        this.#leases.path,
        leases.map((lease) => lease.address),
      ),
      observed('workspace', workspace, trees),
    ];
  }

  async marks(): Promise<Mark[]> {
    const running = [...(await this.#processes.look()).keys()];
    const leased = (await this.#leases.list()).map((lease) => lease.sandboxId);
    const stored = (await readdir(this.#state.sandboxes)).map((name) => name.replace(/\.new$/, '')).filter(isSandboxId);
    const looks = [...new Set([...running, ...leased, ...stored])].map(async (sandboxId) => {
      const found = (await this.look(sandboxId)).filter((observation) => !observation.absent);
      return found.map((observation) => ({ sandboxId, observation }));
    });
    return (await Promise.all(looks)).flat();
  }

  async #asItRuns(source: SourceInfo): Promise<SourceInfo> {
    if (!source.cloneable || !(await this.runningSources.isRunning(source.name))) return source;
    return { ...source, cloneable: false, problem: RUNNING };
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

function observed(layer: Layer, lookedAt: string, found: string[]): Observation {
  const at = new Date().toISOString();
  if (found.length === 0) return { layer, lookedAt, absent: true, at };
  return { layer, lookedAt, absent: false, found: found.join(', '), at };
}

/** A line of /proc/meminfo, KiB there, MiB here. */
function meminfoMib(text: string, name: string): number {
  const kib = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1];
  if (!kib) throw new Error(`/proc/meminfo has no ${name}`);
  return Math.floor(Number(kib) / 1024);
}
