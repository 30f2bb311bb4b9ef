import { rm, stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { Semaphore } from 'async-mutex';
import { MayflyError } from '../../model/errors.ts';
import { macAddress } from '../../model/ids.ts';
import type { MachineState } from '../../model/sandbox/machine-end.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import { measureDisk } from '../disk/host-disk.ts';
import type { CloneRequest, DomainLocation, Hypervisor, Lease } from '../hypervisor.ts';
import { makePrivate, makeSearchable } from '../os/directory.ts';
import type { StepContext } from '../step-context.ts';
import { LibvirtBaking } from './bake/baking.ts';
import { Booting } from './booting.ts';
import { LibvirtCaptures } from './capture/captures.ts';
import { runningSource } from './capture/running-source.ts';
import { kvmUsable } from './client/accel.ts';
import { measureCapacity } from './client/capacity.ts';
import { limitsCpus } from './client/cpu-limits.ts';
import { qemuGroup } from './client/qemu-group.ts';
import { clearScratch } from './client/virsh.ts';
import { type CloningTools, cloneDisk } from './cloning.ts';
import { measureRetainedBytes } from './layers/held-layers.ts';
import { Workspace, workspaceIds } from './layers/workspace.ts';
import { Flattening } from './live/flattening.ts';
import { Hibernation } from './memory/hibernation.ts';
import { Waking } from './memory/waking.ts';
import { watchForLease } from './network/lease-watch.ts';
import type { DhcpLease } from './network/leases.ts';
import { ensureNetworks } from './network/network.ts';
import { PortFilter } from './network/port-filter.ts';
import { macsOf } from './network/ports.ts';
import { type DomainState, isActive } from './output/domain-state.ts';
import { Residue } from './residue.ts';
import { LibvirtSnapshots } from './snapshot/snapshots.ts';
import { LibvirtSourcePower } from './source/source-power.ts';
import { LibvirtTemplates, type MachineKind } from './template/templates.ts';
import { type LibvirtOptions, type LibvirtTools, libvirtTools } from './tools/tools.ts';
import { lifecycleEvents } from './watch/lifecycle-events.ts';
import { Machines } from './watch/machines.ts';

const SSH_PORT = 22;

export class LibvirtHypervisor implements Hypervisor {
  readonly kind = 'libvirt';
  readonly uri: string;
  readonly snapshots: LibvirtSnapshots;
  readonly baking: LibvirtBaking;
  readonly templates: LibvirtTemplates;
  readonly captures: LibvirtCaptures;
  readonly power: LibvirtSourcePower;
  readonly #tools: LibvirtTools;
  readonly #filter: PortFilter;
  readonly #hibernation: Hibernation;
  readonly #residue: Residue;
  readonly #cgroups: boolean;
  /** FIFO queue of wakes: more at once than there are processors would all be late. */
  readonly #wakeTurns = new Semaphore(availableParallelism());
  #kind: MachineKind = { accelerator: 'tcg', limitsCpus: false };

  constructor(options: LibvirtOptions) {
    const tools = libvirtTools(options);
    const { networks, leases, state } = tools;
    this.uri = options.uri;
    this.#tools = tools;
    this.#cgroups = options.cgroups ?? true;
    this.#filter = new PortFilter({ networks, leases, sandboxIds: () => workspaceIds(state) });
    this.#hibernation = new Hibernation(tools);
    this.#residue = new Residue(tools);
    this.snapshots = new LibvirtSnapshots(tools, options.diffProgram ?? null);
    this.baking = new LibvirtBaking(tools);
    this.captures = new LibvirtCaptures(tools);
    this.power = new LibvirtSourcePower(tools);
    this.templates = new LibvirtTemplates(tools, options.templates === false ? null : () => this.#kind);
  }

  /** Result of {@link open}; `tcg` before. */
  get isolation(): 'kvm' | 'tcg' {
    return this.#kind.accelerator;
  }

  leaseFiles = () => this.#tools.leases.files;

  async open(): Promise<void> {
    const { virsh, references, state } = this.#tools;
    const { root, images, sandboxes, snapshots, captures, scratch } = state;
    await makeSearchable(root);
    const group = await qemuGroup(virsh);
    for (const folder of [images, sandboxes, snapshots, captures]) await makePrivate(folder, group);
    await clearScratch(scratch);
    await assertSearchable(root);
    const accelerator = (await kvmUsable()) ? 'kvm' : 'tcg';
    this.#kind = { accelerator, limitsCpus: this.#cgroups && (await limitsCpus(virsh, accelerator)) };
    await this.openNetworks();
    await references.sweep();
    await this.captures.thawAll();
  }

  /** Ensures both networks, also after a private libvirtd has lost them. @throws MayflyError host_unavailable */
  openNetworks = () => ensureNetworks(this.#tools.virsh, this.#tools.networks, this.#filter);

  /** @returns tables of the firewall that had to be reloaded, see {@link PortFilter.mend} */
  mendRules = () => this.#filter.mend();

  close = async () => {};

  capacity = () => measureCapacity(this.#tools.virsh, this.#tools.state.root);
  disk = () => measureDisk(this.#tools.state.root);
  sources = () => this.#tools.sources.list();
  source = async (name: string) => this.#tools.sources.describe(await this.#tools.sources.get(name));
  contentOf = (name: string, context: StepContext) => this.#tools.sources.contentOf(name, context);
  runningSource = async (name: string) => runningSource(this.#tools.virsh, await this.#tools.sources.get(name));

  residentMib = async (sandboxId: string) => mibOf(await this.#tools.domains.residentKib(assertSandboxId(sandboxId)));

  async residentMibOfAll(): Promise<ReadonlyMap<string, number>> {
    const found = await this.#tools.domains.residentKibOfAll();
    return new Map([...found].map(([sandboxId, kib]) => [sandboxId, mibOf(kib)]));
  }

  async diskBytes(sandboxId: string): Promise<number> {
    const workspace = new Workspace(this.#tools.state, sandboxId);
    const [disks, memory] = await Promise.all([workspace.allocatedBytes(), this.savedMemoryBytes(sandboxId)]);
    return disks + memory;
  }

  heldBytes = () => measureRetainedBytes(this.#tools.state);
  savedMemoryBytes = (sandboxId: string) => this.#tools.saved.allocatedBytes(sandboxId);
  stopped = () => this.#tools.domains.stoppedByErrors();

  get #cloning(): CloningTools {
    const { templates, captures } = this;
    return { ...this.#tools, ...this.#kind, templates, captures };
  }

  cloneDisk = (request: CloneRequest, context: StepContext) => cloneDisk(this.#cloning, request, context);

  bootOf = async (sandboxId: string) => (await new Workspace(this.#tools.state, sandboxId).spec())?.boot ?? null;

  async bootDomain(sandboxId: string, context: StepContext): Promise<void> {
    const [flattening, waking] = [new Flattening(this.#tools), new Waking(this.#tools)];
    const tools = { ...this.#cloning, filter: this.#filter, flattening, waking };
    await new Booting(tools, this.#wakeTurns).boot(sandboxId, context);
  }

  async awaitLease(sandboxId: string, context: StepContext): Promise<Lease> {
    const mac = macAddress(sandboxId);
    const lease = await watchForLease(this.#tools.leases, mac, context.signal, async () => {
      context.alive(`waiting for a lease of ${mac}`);
      await this.#tools.domains.checkAlive(sandboxId);
      await this.#filter.sync(); // a port of another name
    });
    await this.#filter.sync();
    return toLease(mac, lease);
  }

  pause = (sandboxId: string) => this.#tools.domains.bring(assertSandboxId(sandboxId), 'paused');
  resume = (sandboxId: string) => this.#hibernation.goOn(assertSandboxId(sandboxId));
  hibernate = (sandboxId: string, context: StepContext) =>
    this.#hibernation.hibernate(assertSandboxId(sandboxId), context);

  async wake(sandboxId: string, wished: 'running' | 'paused', context: StepContext): Promise<void> {
    await this.#hibernation.wake(assertSandboxId(sandboxId), wished, context);
  }

  async machines(sandboxIds: readonly string[]): Promise<ReadonlyMap<string, MachineState>> {
    await this.#filter.sync(); // leases change, and sources are started, without a step of ours
    return await new Machines(this.#tools).of(sandboxIds);
  }

  watch = (signal: AbortSignal) => lifecycleEvents(this.uri, signal);

  async whereabouts(sandboxId: string): Promise<DomainLocation> {
    const { domains, leases } = this.#tools;
    const mac = macAddress(sandboxId);
    const [domain, leased] = await Promise.all([domains.describe(assertSandboxId(sandboxId)), leases.current(mac)]);
    if (domain === null) return { domain: 'absent', lease: null };
    const isHibernated = domain.state === 'shut_off' && (await this.#hibernation.holds(sandboxId));
    const state = isHibernated ? 'hibernated' : toLocationState(domain.state);
    return { domain: state, lease: leased && domain.macs.includes(mac) ? toLease(mac, leased) : null };
  }

  async removeDomain(sandboxId: string): Promise<void> {
    await this.#tools.domains.remove(assertSandboxId(sandboxId));
    await this.#tools.processes.end(sandboxId);
    await this.#tools.saved.remove(sandboxId);
  }

  releaseLease = (sandboxId: string) => this.#tools.leases.release(macsOf(sandboxId));

  async removeWorkspace(sandboxId: string): Promise<void> {
    await rm(this.#tools.state.workspace(sandboxId), { recursive: true, force: true });
    await this.#filter.sync();
    await this.#tools.references.sweep();
  }

  look = (sandboxId: string) => this.#residue.look(assertSandboxId(sandboxId));
  marks = () => this.#residue.marks();
}

function mibOf(kib: number): number {
  return Math.ceil(kib / 1024);
}

function toLease(macAddress: string, { address }: DhcpLease): Lease {
  return { address, port: SSH_PORT, macAddress, noticedAt: new Date().toISOString() };
}

/**
 * Refuses a folder that QEMU, which runs as its own user, cannot traverse to its disks.
 * @throws MayflyError host_unavailable that names the folder
 */
async function assertSearchable(folder: string): Promise<void> {
  const { mode } = await stat(folder);
  if ((mode & 0o001) === 0) {
    throw new MayflyError(
      'host_unavailable',
      `QEMU runs as another user, which could not search ${folder}; \`chmod o+x\` it, or choose another MAYFLY_STATE_DIR.`,
    );
  }
  if (dirname(folder) !== folder) await assertSearchable(dirname(folder));
}

/** Asserts a sandbox id before it becomes a word of a virsh command. */
function assertSandboxId(sandboxId: string): string {
  if (!isSandboxId(sandboxId)) throw new RangeError(`not a sandbox id: ${JSON.stringify(sandboxId)}`);
  return sandboxId;
}

/** Maps to four states. A domain neither ended nor paused counts as running: it may answer. */
function toLocationState(state: DomainState): DomainLocation['domain'] {
  if (state === 'paused' || state === 'suspended') return 'paused';
  return isActive(state) && state !== 'dying' ? 'running' : 'off';
}
