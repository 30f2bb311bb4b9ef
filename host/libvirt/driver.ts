import { rm, stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { Semaphore } from 'async-mutex';
import { MayflyError } from '../../model/errors.ts';
import type { Capacity, SourceInfo } from '../../model/host.ts';
import { isSandboxId, macAddress } from '../../model/ids.ts';
import type { Boot } from '../../model/sandbox/boot.ts';
import type { MachineState } from '../../model/sandbox/machine-end.ts';
import type { Observation } from '../../model/sandbox/proof.ts';
import type { HostDisk } from '../../model/snapshots/storage.ts';
import type { RunningSource } from '../console.ts';
import { diskOf } from '../disk/host-disk.ts';
import type { Clone, CloneRequest, Hypervisor, Lease, Mark, Whereabouts } from '../hypervisor.ts';
import { makeClosed, makeSearchable } from '../os/directory.ts';
import type { StateDir } from '../state-dir.ts';
import type { StepContext } from '../step-context.ts';
import type { LibvirtBaking } from './bake/baking.ts';
import { Booting } from './booting.ts';
import type { LibvirtCaptures } from './capture/captures.ts';
import { runningSource } from './capture/running-source.ts';
import { kvmUsable } from './client/accel.ts';
import { measureCapacity } from './client/capacity.ts';
import { limitsCpus } from './client/cpu-limits.ts';
import { qemuGroup } from './client/qemu-group.ts';
import { clearScratch } from './client/virsh.ts';
import { type CloningDeps, cloneDisk } from './cloning.ts';
import { heldBytes } from './layers/held-layers.ts';
import { Workspace } from './layers/workspace.ts';
import { watchForLease } from './network/lease-watch.ts';
import { ensureNetworks } from './network/network.ts';
import { macsOf } from './network/ports.ts';
import { type DomainState, isActive } from './output/domain-state.ts';
import { type LibvirtOptions, type LibvirtParts, partsOf } from './parts.ts';
import type { LibvirtSnapshots } from './snapshot/snapshots.ts';
import type { LibvirtSourcePower } from './source/source-power.ts';
import { LibvirtTemplates } from './template/templates.ts';
import { lifecycleEvents } from './watch/lifecycle-events.ts';

const SSH_PORT = 22;

/** A machine whose sandboxes are libvirt domains. */
export class LibvirtHypervisor implements Hypervisor {
  readonly kind = 'libvirt';
  readonly uri: string;
  readonly snapshots: LibvirtSnapshots;
  readonly baking: LibvirtBaking;
  readonly templates: LibvirtTemplates;
  readonly captures: LibvirtCaptures;
  readonly power: LibvirtSourcePower;
  readonly #state: StateDir;
  readonly #parts: LibvirtParts;
  readonly #cgroups: boolean;
  /** Woken ones need the processors: more at once than there are would all be late. They come in their order. */
  readonly #wakeTurns = new Semaphore(availableParallelism());
  #accelerator: 'kvm' | 'tcg' = 'tcg';
  #limitsCpus = false;

  constructor(options: LibvirtOptions) {
    this.uri = options.uri;
    this.#state = options.state;
    this.#parts = partsOf(options);
    this.#cgroups = options.cgroups ?? true;
    this.snapshots = this.#parts.snapshots;
    this.baking = this.#parts.baking;
    this.captures = this.#parts.captures;
    this.power = this.#parts.power;
    const kind = () => ({ accelerator: this.#accelerator, limitsCpus: this.#limitsCpus });
    this.templates = new LibvirtTemplates(this.#parts, options.templates === false ? null : kind);
  }

  /** What was found out by {@link open}; `tcg` before. */
  get isolation(): 'kvm' | 'tcg' {
    return this.#accelerator;
  }

  leaseFiles(): string[] {
    return this.#parts.leases.files;
  }

  async open(): Promise<void> {
    const { root, images, sandboxes, snapshots, captures } = this.#state;
    await makeSearchable(root);
    const group = await qemuGroup(this.#parts.virsh);
    for (const folder of [images, sandboxes, snapshots, captures]) await makeClosed(folder, group);
    await clearScratch(this.#state.scratch);
    await refuseUnsearchable(this.#state.root);
    this.#accelerator = (await kvmUsable()) ? 'kvm' : 'tcg';
    this.#limitsCpus = this.#cgroups && (await limitsCpus(this.#parts.virsh, this.#accelerator));
    await this.openNetworks();
    await this.#parts.references.sweep();
    await this.captures.thawAll();
  }

  /** Also after a private libvirtd has lost them. @throws MayflyError host_unavailable */
  async openNetworks(): Promise<void> {
    await ensureNetworks(this.#parts.virsh, this.#parts.networks, this.#parts.filter);
  }

  /** @returns which of the firewall's tables had to be loaded anew, see {@link PortFilter.mend} */
  async mendRules(): Promise<string[]> {
    return await this.#parts.filter.mend();
  }

  async close(): Promise<void> {}

  async capacity(): Promise<Capacity> {
    return await measureCapacity(this.#parts.virsh, this.#state.root);
  }

  async disk(): Promise<HostDisk> {
    return await diskOf(this.#state.root);
  }

  async sources(): Promise<SourceInfo[]> {
    return await this.#parts.sources.list();
  }

  async source(name: string): Promise<SourceInfo> {
    return await this.#parts.sources.describe(await this.#parts.sources.get(name));
  }

  async contentOf(name: string, context: StepContext): Promise<string | null> {
    return await this.#parts.sources.contentOf(name, context);
  }

  async runningSource(name: string): Promise<RunningSource> {
    return runningSource(this.#parts.virsh, await this.#parts.sources.get(name));
  }

  async residentMib(sandboxId: string): Promise<number> {
    return Math.ceil((await this.#parts.domains.residentKib(checked(sandboxId))) / 1024);
  }

  async residentMibOfAll(): Promise<ReadonlyMap<string, number>> {
    const found = await this.#parts.domains.residentKibOfAll();
    return new Map([...found].map(([sandboxId, kib]) => [sandboxId, Math.ceil(kib / 1024)]));
  }

  async diskBytes(sandboxId: string): Promise<number> {
    const [workspace, saved] = await Promise.all([
      new Workspace(this.#state, sandboxId).allocatedBytes(),
      this.#parts.saved.allocatedBytes(sandboxId),
    ]);
    return workspace + saved;
  }

  async heldBytes(): Promise<ReadonlyMap<string, number>> {
    return await heldBytes(this.#state);
  }

  async savedMemoryBytes(sandboxId: string): Promise<number> {
    return await this.#parts.saved.allocatedBytes(sandboxId);
  }

  async stopped(): Promise<string[]> {
    return await this.#parts.domains.stoppedByErrors();
  }

  async cloneDisk(request: CloneRequest, context: StepContext): Promise<Clone> {
    return await cloneDisk(this.#cloning, request, context);
  }

  async bootOf(sandboxId: string): Promise<Boot | null> {
    return (await new Workspace(this.#state, sandboxId).spec())?.boot ?? null;
  }

  async bootDomain(sandboxId: string, context: StepContext): Promise<void> {
    const booting = new Booting({ ...this.#parts, ...this.#cloning }, this.#wakeTurns);
    await booting.boot(sandboxId, context);
  }

  get #cloning(): CloningDeps {
    const { templates } = this;
    return { ...this.#parts, templates, accelerator: this.#accelerator, limitsCpus: this.#limitsCpus };
  }

  async awaitLease(sandboxId: string, context: StepContext): Promise<Lease> {
    const mac = macAddress(sandboxId);
    const lease = await watchForLease(this.#parts.leases, mac, context.signal, async () => {
      context.alive(`waiting for a lease of ${mac}`);
      await this.#parts.domains.checkAlive(sandboxId);
      await this.#parts.filter.sync(); // a port of another name
    });
    await this.#parts.filter.sync();
    return { address: lease.address, port: SSH_PORT, macAddress: mac, noticedAt: new Date().toISOString() };
  }

  async pause(sandboxId: string): Promise<void> {
    await this.#parts.domains.bring(checked(sandboxId), 'paused');
  }

  async resume(sandboxId: string): Promise<void> {
    await this.#parts.hibernation.goOn(checked(sandboxId));
  }

  async hibernate(sandboxId: string, context: StepContext): Promise<void> {
    await this.#parts.hibernation.hibernate(checked(sandboxId), context);
  }

  async wake(sandboxId: string, wished: 'running' | 'paused', context: StepContext): Promise<void> {
    await this.#parts.hibernation.wake(checked(sandboxId), wished, context);
  }

  async machines(sandboxIds: readonly string[]): Promise<ReadonlyMap<string, MachineState>> {
    await this.#parts.filter.sync(); // leases change, and sources are started, without a step of ours
    return await this.#parts.machines.of(sandboxIds);
  }

  watch(signal: AbortSignal): AsyncIterable<void> {
    return lifecycleEvents(this.uri, signal);
  }

  async whereabouts(sandboxId: string): Promise<Whereabouts> {
    const mac = macAddress(sandboxId);
    const [domain, leased] = await Promise.all([
      this.#parts.domains.describe(checked(sandboxId)),
      this.#parts.leases.current(mac),
    ]);
    if (domain === null) return { domain: 'absent', lease: null };
    const noticedAt = new Date().toISOString();
    const lease = leased && { address: leased.address, port: SSH_PORT, macAddress: mac, noticedAt };
    const isHibernated = domain.state === 'shut_off' && (await this.#parts.hibernation.holds(sandboxId));
    const state = isHibernated ? 'hibernated' : inFewWords(domain.state);
    return { domain: state, lease: domain.macs.includes(mac) ? lease : null };
  }

  async removeDomain(sandboxId: string): Promise<void> {
    await this.#parts.domains.remove(checked(sandboxId));
    await this.#parts.processes.end(sandboxId);
    await this.#parts.saved.remove(sandboxId);
  }

  async releaseLease(sandboxId: string): Promise<void> {
    await this.#parts.leases.release(macsOf(sandboxId));
  }

  async removeWorkspace(sandboxId: string): Promise<void> {
    await rm(this.#state.workspace(sandboxId), { recursive: true, force: true });
    await this.#parts.filter.sync();
    await this.#parts.references.sweep();
  }

  async look(sandboxId: string): Promise<Observation[]> {
    return await this.#parts.residue.look(checked(sandboxId));
  }

  async marks(): Promise<Mark[]> {
    return await this.#parts.residue.marks();
  }
}

/**
 * QEMU runs as a user of its own, which must be able to reach its disks.
 * @throws MayflyError host_unavailable that names the folder
 */
async function refuseUnsearchable(folder: string): Promise<void> {
  const { mode } = await stat(folder);
  if ((mode & 0o001) === 0) {
    throw new MayflyError(
      'host_unavailable',
      `QEMU runs as another user, which could not search ${folder}; \`chmod o+x\` it, or choose another MAYFLY_STATE_DIR.`,
    );
  }
  if (dirname(folder) !== folder) await refuseUnsearchable(dirname(folder));
}

/** It becomes words of a virsh command. */
function checked(sandboxId: string): string {
  if (!isSandboxId(sandboxId)) throw new RangeError(`not a sandbox id: ${JSON.stringify(sandboxId)}`);
  return sandboxId;
}

/** What is neither ended nor held may answer: whoever tries will see. */
function inFewWords(state: DomainState): Whereabouts['domain'] {
  if (state === 'paused' || state === 'suspended') return 'paused';
  return isActive(state) && state !== 'dying' ? 'running' : 'off';
}
