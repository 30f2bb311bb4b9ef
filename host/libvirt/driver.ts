import { mkdir, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MayflyError } from '../../model/errors.ts';
import type { Capacity, SourceInfo } from '../../model/host.ts';
import { isSandboxId, macAddress } from '../../model/ids.ts';
import type { Observation } from '../../model/proof.ts';
import type { HostDisk } from '../../model/storage.ts';
import { BaseDigests } from '../disk/base-digest.ts';
import { diskOf } from '../disk/host-disk.ts';
import type { Clone, CloneRequest, Hypervisor, Lease, Mark, StepContext, Whereabouts } from '../hypervisor.ts';
import type { RunningSource } from '../source/console.ts';
import type { StateDir } from '../state-dir.ts';
import { kvmUsable } from './accel.ts';
import { LibvirtBaking } from './baking.ts';
import { BlockPull } from './block-pull.ts';
import { LibvirtCaptures } from './captures.ts';
import { cloneDisk } from './cloning.ts';
import { Domains } from './domains.ts';
import { Flattening } from './flattening.ts';
import { Freezer } from './freezer.ts';
import { GuestAgent } from './guest-agent.ts';
import { heldBytes } from './held-layers.ts';
import { Hibernation } from './hibernation.ts';
import { Jobs } from './jobs.ts';
import { Leaning } from './leaning.ts';
import { watchForLease } from './lease-watch.ts';
import { Leases } from './leases.ts';
import { LostMoves } from './lost-moves.ts';
import { ensureNetworks } from './network.ts';
import { DEFAULT_NETWORKS, type NetworkPlans } from './network-plan.ts';
import { type DomainState, isActive } from './output/domain-state.ts';
import { nodeInfo, nodeMemory } from './output/node.ts';
import { QemuMonitor } from './qemu-monitor.ts';
import { macsOf, Residue } from './residue.ts';
import { runningSource } from './running-source.ts';
import { SavedMemory, savedMemoryFolder } from './saved-memory.ts';
import { LibvirtSnapshots } from './snapshots.ts';
import { SourceUse } from './source-use.ts';
import { Sources } from './sources.ts';
import { Thawing } from './thawing.ts';
import { Virsh } from './virsh.ts';
import { Waking } from './waking.ts';
import { Workspace, workspaceIds } from './workspace.ts';

export interface LibvirtOptions {
  /** libvirt connection URI, e.g. `qemu:///system`. */
  uri: string;
  state: StateDir;
  /** `@default` {@link DEFAULT_NETWORKS} */
  networks?: NetworkPlans;
  /** libvirt's dnsmasq folder as this process sees it. `@default` /var/lib/libvirt/dnsmasq */
  leaseFolder?: string;
  /** Path of mayfly-diff. Without it nothing is compared. */
  diffProgram?: string;
}

const SSH_PORT = 22;

/** A machine whose sandboxes are libvirt domains. */
export class LibvirtHypervisor implements Hypervisor {
  readonly kind = 'libvirt';
  readonly uri: string;
  readonly snapshots: LibvirtSnapshots;
  readonly baking: LibvirtBaking;
  readonly captures: LibvirtCaptures;
  private readonly virsh: Virsh;
  private readonly state: StateDir;
  private readonly networks: NetworkPlans;
  private readonly leases: Leases;
  private readonly domains: Domains;
  private readonly known: Sources;
  private readonly digests: BaseDigests;
  private readonly agent: GuestAgent;
  private readonly leaning: Leaning;
  private readonly flattening: Flattening;
  private readonly residue: Residue;
  private readonly use = new SourceUse();
  private readonly waking: Waking;
  private readonly saved: SavedMemory;
  private readonly hibernation: Hibernation;
  private accelerator: 'kvm' | 'tcg' = 'tcg';

  constructor(options: LibvirtOptions) {
    this.uri = options.uri;
    this.virsh = new Virsh(options.uri);
    this.state = options.state;
    this.networks = options.networks ?? DEFAULT_NETWORKS;
    const bridges = [this.networks.isolated.bridge, this.networks.internet.bridge];
    const leaseFolder = options.leaseFolder ?? '/var/lib/libvirt/dnsmasq';
    this.leases = new Leases(leaseFolder, bridges);
    this.saved = new SavedMemory(savedMemoryFolder(leaseFolder));
    this.domains = new Domains(this.virsh);
    this.known = new Sources(this.virsh);
    this.digests = new BaseDigests(options.state.images);
    this.agent = new GuestAgent(this.virsh, this.domains);
    const { state, virsh, domains, digests, agent } = this;
    const { saved, leases } = this;
    this.residue = new Residue({ domains, leases, saved, state });
    this.leaning = new Leaning(state, digests);
    this.captures = new LibvirtCaptures({ state, virsh, sources: this.known, agent, digests });
    const { leaning, use, known: sources } = this;
    const monitor = new QemuMonitor(virsh);
    this.flattening = new Flattening({ state, blockPull: new BlockPull(virsh, monitor), leaning });
    const { flattening } = this;
    const jobs = new Jobs(virsh);
    this.hibernation = new Hibernation({ virsh, domains, jobs, saved, leases, agent, flattening, state });
    const { diffProgram = null } = options;
    const freezer = new Freezer(virsh, domains);
    const thawing = new Thawing({ domains, agent, freezer, jobs, disk: () => this.disk() });
    const common = { state, virsh, domains, digests, agent };
    const lostMoves = new LostMoves(virsh, monitor);
    const saving = { jobs, freezer, thawing, lostMoves, flattening };
    this.snapshots = new LibvirtSnapshots({ ...common, ...saving, leaning, diffProgram });
    this.waking = new Waking(common);
    this.baking = new LibvirtBaking({ ...common, sources, leaning, use });
  }

  /** What was found out by {@link open}; `tcg` before. */
  get isolation(): 'kvm' | 'tcg' {
    return this.accelerator;
  }

  leaseFiles(): string[] {
    return this.leases.files;
  }

  async open(): Promise<void> {
    const { root, images, sandboxes, snapshots, captures } = this.state;
    for (const folder of [root, images, sandboxes, snapshots, captures]) {
      await mkdir(folder, { recursive: true, mode: 0o711 });
    }
    await refuseUnsearchable(this.state.root);
    this.accelerator = (await kvmUsable()) ? 'kvm' : 'tcg';
    await ensureNetworks(this.virsh, this.networks);
    await this.leaning.sweep();
    await this.captures.thawAll();
  }

  async close(): Promise<void> {}

  async capacity(): Promise<Capacity> {
    const [node, memory, disk] = await Promise.all([
      this.virsh.run(['nodeinfo']).then(nodeInfo),
      this.virsh.run(['nodememstats']).then(nodeMemory),
      this.disk(),
    ]);
    const { memoryTotalMib, memoryAvailableMib } = memory;
    if (node.cpus === null || memoryTotalMib === null || memoryAvailableMib === null) {
      throw new MayflyError('host_unavailable', 'libvirt did not say how many CPUs and how much memory the host has.');
    }
    const { totalBytes: diskTotalBytes, availableBytes: diskAvailableBytes } = disk;
    return { cpus: node.cpus, memoryTotalMib, memoryAvailableMib, diskTotalBytes, diskAvailableBytes };
  }

  async disk(): Promise<HostDisk> {
    return await diskOf(this.state.root);
  }

  async sources(): Promise<SourceInfo[]> {
    return await this.known.list();
  }

  async source(name: string): Promise<SourceInfo> {
    return await this.known.describe(await this.known.get(name));
  }

  async runningSource(name: string): Promise<RunningSource> {
    return runningSource(this.virsh, await this.known.get(name));
  }

  async usage(sandboxId: string): Promise<{ memoryMib: number; diskBytes: number }> {
    const [kib, diskBytes] = await Promise.all([this.domains.residentKib(sandboxId), this.diskBytes(sandboxId)]);
    return { memoryMib: Math.ceil(kib / 1024), diskBytes };
  }

  async diskBytes(sandboxId: string): Promise<number> {
    const [workspace, saved] = await Promise.all([
      new Workspace(this.state, sandboxId).allocatedBytes(),
      this.saved.allocatedBytes(sandboxId),
    ]);
    return workspace + saved;
  }

  async heldBytes(): Promise<ReadonlyMap<string, number>> {
    return await heldBytes(this.state);
  }

  async savedMemoryBytes(sandboxId: string): Promise<number> {
    return await this.saved.allocatedBytes(sandboxId);
  }

  async stopped(): Promise<string[]> {
    return await this.domains.stoppedByErrors();
  }

  async cloneDisk(request: CloneRequest, context: StepContext): Promise<Clone> {
    const { state, known: sources, digests, leaning, captures, networks, accelerator } = this;
    const deps = { state, sources, digests, leaning, captures, networks, accelerator };
    const clone = () => cloneDisk(deps, request, context);
    return await (request.snapshotId === null ? this.use.by(request.source, clone) : clone());
  }

  async bootDomain(sandboxId: string, context: StepContext): Promise<void> {
    const workspace = new Workspace(this.state, sandboxId);
    const spec = await workspace.spec();
    if (spec === null) {
      throw new MayflyError('boot_failed', `${sandboxId} cannot be booted: it has not been cloned on this host.`);
    }
    await this.flattening.stop(sandboxId);
    const mine = macsOf(sandboxId);
    for (const other of await workspaceIds(this.state)) {
      if (other === sandboxId || ![...macsOf(other)].some((mac) => mine.has(mac))) continue;
      throw new MayflyError('address_conflict', `${sandboxId} would have a MAC address of ${other}.`);
    }
    if (spec.wakesFrom !== null) return await this.waking.wake(workspace, spec, spec.wakesFrom, context.signal);
    await this.domains.start(sandboxId, workspace.domainXml, context.signal);
  }

  async awaitLease(sandboxId: string, context: StepContext): Promise<Lease> {
    const mac = macAddress(sandboxId);
    const lease = await watchForLease(this.leases, mac, context.signal, async () => {
      context.alive(`waiting for a lease of ${mac}`);
      await this.domains.checkAlive(sandboxId);
    });
    return { address: lease.address, port: SSH_PORT, macAddress: mac, noticedAt: new Date().toISOString() };
  }

  async pause(sandboxId: string): Promise<void> {
    await this.domains.bring(checked(sandboxId), 'paused');
  }

  async resume(sandboxId: string): Promise<void> {
    await this.domains.bring(checked(sandboxId), 'running');
    await this.agent.setClock(sandboxId);
  }

  async hibernate(sandboxId: string, context: StepContext): Promise<void> {
    await this.hibernation.hibernate(checked(sandboxId), context);
  }

  async wake(sandboxId: string, wished: 'running' | 'paused', context: StepContext): Promise<void> {
    await this.hibernation.wake(checked(sandboxId), wished, context);
  }

  async whereabouts(sandboxId: string): Promise<Whereabouts> {
    const mac = macAddress(sandboxId);
    const [domain, leased] = await Promise.all([this.domains.describe(checked(sandboxId)), this.leases.current(mac)]);
    if (domain === null) return { domain: 'absent', lease: null };
    const noticedAt = new Date().toISOString();
    const lease = leased && { address: leased.address, port: SSH_PORT, macAddress: mac, noticedAt };
    const isHibernated = domain.state === 'shut_off' && (await this.hibernation.holds(sandboxId));
    const state = isHibernated ? 'hibernated' : inFewWords(domain.state);
    return { domain: state, lease: domain.macs.includes(mac) ? lease : null };
  }

  async removeDomain(sandboxId: string): Promise<void> {
    await this.domains.remove(sandboxId);
    await this.saved.remove(sandboxId);
  }

  async releaseLease(sandboxId: string): Promise<void> {
    await this.leases.release(macsOf(sandboxId));
  }

  async removeWorkspace(sandboxId: string): Promise<void> {
    await rm(this.state.workspace(sandboxId), { recursive: true, force: true });
    await this.leaning.sweep();
  }

  async look(sandboxId: string): Promise<Observation[]> {
    return await this.residue.look(sandboxId);
  }

  async marks(): Promise<Mark[]> {
    return await this.residue.marks();
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
