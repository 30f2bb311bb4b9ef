import { mkdir, rm, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MayflyError } from '../../model/errors.ts';
import type { Capacity, SourceInfo } from '../../model/host.ts';
import { domainUuid, isSandboxId, macAddress } from '../../model/ids.ts';
import type { Observation } from '../../model/proof.ts';
import { orAbsent } from '../disk/absent.ts';
import { BaseDigests } from '../disk/base-digest.ts';
import type { Clone, CloneRequest, Hypervisor, Lease, Mark, StepContext, Whereabouts } from '../hypervisor.ts';
import type { RunningSource } from '../source/console.ts';
import type { StateDir } from '../state-dir.ts';
import { kvmUsable } from './accel.ts';
import { cloneDisk } from './cloning.ts';
import { Domains } from './domains.ts';
import { watchForLease } from './lease-watch.ts';
import { type DhcpLease, Leases } from './leases.ts';
import { ensureNetworks } from './network.ts';
import { DEFAULT_NETWORKS, type NetworkPlans } from './network-plan.ts';
import { type DomainState, isActive } from './output/domain-state.ts';
import { nodeInfo, nodeMemory } from './output/node.ts';
import { runningSource } from './running-source.ts';
import { Sources } from './sources.ts';
import { Virsh } from './virsh.ts';
import { Workspace, workspaceIds } from './workspace.ts';

export interface LibvirtOptions {
  /** libvirt connection URI, e.g. `qemu:///system`. */
  uri: string;
  state: StateDir;
  /** `@default` {@link DEFAULT_NETWORKS} */
  networks?: NetworkPlans;
  /** libvirt's dnsmasq folder as this process sees it. `@default` /var/lib/libvirt/dnsmasq */
  leaseFolder?: string;
}

/** Interfaces of a sandbox whose leases are looked for: more than any source has that was seen. */
const MAX_NICS = 8;
const SSH_PORT = 22;

/** A machine whose sandboxes are libvirt domains. */
export class LibvirtHypervisor implements Hypervisor {
  readonly kind = 'libvirt';
  readonly uri: string;
  private readonly virsh: Virsh;
  private readonly state: StateDir;
  private readonly networks: NetworkPlans;
  private readonly leases: Leases;
  private readonly domains: Domains;
  private readonly known: Sources;
  private readonly digests: BaseDigests;
  private accelerator: 'kvm' | 'tcg' = 'tcg';

  constructor(options: LibvirtOptions) {
    this.uri = options.uri;
    this.virsh = new Virsh(options.uri);
    this.state = options.state;
    this.networks = options.networks ?? DEFAULT_NETWORKS;
    const bridges = [this.networks.isolated.bridge, this.networks.internet.bridge];
    this.leases = new Leases(options.leaseFolder ?? '/var/lib/libvirt/dnsmasq', bridges);
    this.domains = new Domains(this.virsh);
    this.known = new Sources(this.virsh);
    this.digests = new BaseDigests(options.state.images);
  }

  /** What was found out by {@link open}; `tcg` before. */
  get isolation(): 'kvm' | 'tcg' {
    return this.accelerator;
  }

  leaseFiles(): string[] {
    return this.leases.files;
  }

  async open(): Promise<void> {
    for (const folder of [this.state.root, this.state.images, this.state.sandboxes]) {
      await mkdir(folder, { recursive: true, mode: 0o711 });
    }
    await refuseUnsearchable(this.state.root);
    this.accelerator = (await kvmUsable()) ? 'kvm' : 'tcg';
    await ensureNetworks(this.virsh, this.networks);
  }

  async close(): Promise<void> {}

  async capacity(): Promise<Capacity> {
    const [node, memory, disk] = await Promise.all([
      this.virsh.run(['nodeinfo']).then(nodeInfo),
      this.virsh.run(['nodememstats']).then(nodeMemory),
      statfs(this.state.root),
    ]);
    const { memoryTotalMib, memoryAvailableMib } = memory;
    if (node.cpus === null || memoryTotalMib === null || memoryAvailableMib === null) {
      throw new MayflyError('host_unavailable', 'libvirt did not say how many CPUs and how much memory the host has.');
    }
    const diskTotalBytes = disk.blocks * disk.bsize;
    const diskAvailableBytes = disk.bavail * disk.bsize;
    return { cpus: node.cpus, memoryTotalMib, memoryAvailableMib, diskTotalBytes, diskAvailableBytes };
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
    const [kib, diskBytes] = await Promise.all([
      this.domains.residentKib(sandboxId),
      new Workspace(this.state, sandboxId).allocatedBytes(),
    ]);
    return { memoryMib: Math.ceil(kib / 1024), diskBytes };
  }

  async cloneDisk(request: CloneRequest, context: StepContext): Promise<Clone> {
    const { state, known: sources, digests, networks, accelerator } = this;
    return await cloneDisk({ state, sources, digests, networks, accelerator }, request, context);
  }

  async bootDomain(sandboxId: string, context: StepContext): Promise<void> {
    const workspace = new Workspace(this.state, sandboxId);
    if ((await workspace.spec()) === null) {
      throw new MayflyError('boot_failed', `${sandboxId} cannot be booted: it has not been cloned on this host.`);
    }
    const mine = macsOf(sandboxId);
    for (const other of await workspaceIds(this.state)) {
      if (other === sandboxId || ![...macsOf(other)].some((mac) => mine.has(mac))) continue;
      throw new MayflyError('address_conflict', `${sandboxId} would have a MAC address of ${other}.`);
    }
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

  async whereabouts(sandboxId: string): Promise<Whereabouts> {
    const mac = macAddress(sandboxId);
    const [domain, leased] = await Promise.all([this.domains.describe(checked(sandboxId)), this.leases.current(mac)]);
    if (domain === null) return { domain: 'absent', lease: null };
    const noticedAt = new Date().toISOString();
    const lease = leased && { address: leased.address, port: SSH_PORT, macAddress: mac, noticedAt };
    return { domain: inFewWords(domain.state), lease: domain.macs.includes(mac) ? lease : null };
  }

  async removeDomain(sandboxId: string): Promise<void> {
    await this.domains.remove(sandboxId);
  }

  async releaseLease(sandboxId: string): Promise<void> {
    await this.leases.release(macsOf(sandboxId));
  }

  async removeWorkspace(sandboxId: string): Promise<void> {
    await rm(this.state.workspace(sandboxId), { recursive: true, force: true });
  }

  async look(sandboxId: string): Promise<Observation[]> {
    const folder = this.state.workspace(sandboxId);
    const [domain, leases, workspace] = await Promise.all([
      this.domains.find(sandboxId),
      this.leases.find(macsOf(sandboxId)),
      orAbsent(stat(folder)),
    ]);
    return [
      this.domainSeen(domain && `${domain.name} (${domain.uuid})`),
      this.leaseSeen(leases),
      seen('workspace', folder, workspace && folder),
    ];
  }

  async marks(): Promise<Mark[]> {
    const [domains, leases, workspaces] = await Promise.all([
      this.domains.list(),
      this.leases.all(),
      workspaceIds(this.state),
    ]);
    const named = domains.filter(({ name }) => isSandboxId(name));
    const ids = new Set([...named.map(({ name }) => name), ...workspaces]);
    // a lease tells whose it is by the name its guest gave, which counts when the MAC is that sandbox's too
    for (const { hostname } of leases) if (hostname !== null && isSandboxId(hostname)) ids.add(hostname);
    return [...ids].flatMap((sandboxId) => {
      const macs = macsOf(sandboxId);
      const found: Observation[] = [];
      const domain = named.find(({ name, uuid }) => name === sandboxId || uuid === domainUuid(sandboxId));
      if (domain) found.push(this.domainSeen(`${domain.name} (${domain.uuid})`));
      const leased = leases.filter((lease) => macs.has(lease.macAddress));
      if (leased.length > 0) found.push(this.leaseSeen(leased));
      const folder = this.state.workspace(sandboxId);
      if (workspaces.includes(sandboxId)) found.push(seen('workspace', folder, folder));
      return found.map((observation) => ({ sandboxId, observation }));
    });
  }

  private domainSeen(found: string | null): Observation {
    return seen('domain', this.domains.lookedAt, found);
  }

  private leaseSeen(leases: readonly DhcpLease[]): Observation {
    const found = leases.map((lease) => `${lease.address} for ${lease.macAddress} on ${lease.bridge}`).join(', ');
    return seen('lease', this.leases.files.join(', '), found === '' ? null : found);
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

/** The MAC addresses that interfaces of this sandbox may have. */
export function macsOf(sandboxId: string): Set<string> {
  return new Set(Array.from({ length: MAX_NICS }, (_, nic) => macAddress(sandboxId, nic)));
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

function seen(layer: Observation['layer'], lookedAt: string, found: string | null): Observation {
  const at = new Date().toISOString();
  return found === null ? { layer, lookedAt, absent: true, at } : { layer, lookedAt, absent: false, found, at };
}
