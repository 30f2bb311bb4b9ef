import { stat } from 'node:fs/promises';
import { domainUuid } from '../../model/ids.ts';
import type { Observation } from '../../model/sandbox/proof.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import type { Mark } from '../hypervisor.ts';
import { toObservation } from '../observation.ts';
import { orAbsent } from '../os/absent.ts';
import type { ListedDomain } from './client/domains.ts';
import { workspaceIds } from './layers/workspace.ts';
import type { DhcpLease } from './network/leases.ts';
import { macsOf } from './network/ports.ts';
import type { LibvirtTools } from './tools/tools.ts';
import type { QemuProcess } from './watch/qemu-processes.ts';

/** Residue of sandboxes on the machine, in the layers domain, lease and workspace. */
export class Residue {
  constructor(private readonly deps: Pick<LibvirtTools, 'domains' | 'processes' | 'leases' | 'saved' | 'state'>) {}

  async look(sandboxId: string): Promise<Observation[]> {
    const { domains, processes, saved, state } = this.deps;
    const folder = state.workspace(sandboxId);
    const [domain, running, hasMemory, leases, workspace] = await Promise.all([
      domains.find(sandboxId),
      processes.of(sandboxId),
      saved.look(sandboxId),
      this.deps.leases.find(macsOf(sandboxId)),
      orAbsent(stat(folder)),
    ]);
    return [
      this.#observeDomain(sandboxId, domain, running, hasMemory),
      this.#observeLeases(leases),
      toObservation('workspace', folder, workspace ? [folder] : []),
    ];
  }

  async marks(): Promise<Mark[]> {
    const { saved, state } = this.deps;
    await saved.refuseUnseen();
    const [domains, running, memories, leases, workspaces] = await Promise.all([
      this.deps.domains.list(),
      this.deps.processes.all(),
      saved.sandboxIds(),
      this.deps.leases.all(),
      workspaceIds(state),
    ]);
    const named: ListedDomain[] = [];
    for (const domain of domains) if (await this.#isOurs(domain, workspaces)) named.push(domain);
    const own = running.filter((qemu) => this.#isOurProcess(qemu, workspaces));
    const ids = new Set([...named.map(({ name }) => name), ...memories, ...workspaces]);
    for (const { sandboxId } of own) if (sandboxId !== null) ids.add(sandboxId);
    const others = new Set([...domains.map(({ name }) => name), ...running.map(({ sandboxId }) => sandboxId)]);
    // a lease names its sandbox by the guest's hostname, which counts only if the MAC is that sandbox's too
    for (const { hostname } of leases) {
      if (hostname !== null && isSandboxId(hostname) && !others.has(hostname)) ids.add(hostname);
    }
    return [...ids].flatMap((sandboxId) => {
      const macs = macsOf(sandboxId);
      const found: Observation[] = [];
      const domain = named.find(({ name, uuid }) => name === sandboxId || uuid === domainUuid(sandboxId));
      const hasMemory = memories.includes(sandboxId);
      const qemus = own.filter((one) => one.sandboxId === sandboxId || one.uuid === domainUuid(sandboxId));
      if (domain || qemus.length > 0 || hasMemory) {
        found.push(this.#observeDomain(sandboxId, domain ?? null, qemus, hasMemory));
      }
      const leased = leases.filter((lease) => macs.has(lease.macAddress));
      if (leased.length > 0) found.push(this.#observeLeases(leased));
      const folder = state.workspace(sandboxId);
      if (workspaces.includes(sandboxId)) found.push(toObservation('workspace', folder, [folder]));
      return found.map((observation) => ({ sandboxId, observation }));
    });
  }

  /**
   * Reports whether a domain is of this installation. A name proves nothing, and another installation derives the same
   * UUID from it: its disks are in the other's folder.
   */
  async #isOurs({ name, uuid }: ListedDomain, workspaces: readonly string[]): Promise<boolean> {
    if (!isSandboxId(name) || uuid !== domainUuid(name)) return false;
    if (workspaces.includes(name)) return true;
    const files = (await this.deps.domains.listedFiles(name)) ?? [];
    return files.every((file) => file.startsWith(`${this.deps.state.root}/`) || !file.startsWith('/'));
  }

  /** Reports the same of a process of any libvirtd, by the files it writes: not all it reads are in our folder. */
  #isOurProcess({ sandboxId, files }: QemuProcess, workspaces: readonly string[]): boolean {
    if (sandboxId !== null && workspaces.includes(sandboxId)) return true;
    return files.length === 0 || files.some((file) => file.startsWith(`${this.deps.state.root}/`));
  }

  /** Observes a machine in libvirt, in the kernel, or as saved memory. */
  #observeDomain(
    sandboxId: string,
    domain: ListedDomain | null,
    running: readonly QemuProcess[],
    hasMemory: boolean,
  ): Observation {
    const { domains, processes, saved } = this.deps;
    const memory = saved.of(sandboxId);
    const found = [
      ...(domain ? [`${domain.name} (${domain.uuid})`] : []),
      ...running.map(({ pid }) => `process ${pid}`),
      ...(hasMemory ? [memory] : []),
    ];
    return toObservation('domain', [domains.lookedAt, processes.lookedAt, memory].join(', '), found);
  }

  #observeLeases(leases: readonly DhcpLease[]): Observation {
    const found = leases.map((lease) => `${lease.address} for ${lease.macAddress} on ${lease.bridge}`);
    return toObservation('lease', this.deps.leases.files.join(', '), found);
  }
}
