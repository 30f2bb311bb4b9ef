import { BaseDigests } from '../../disk/base-digest.ts';
import type { StateDir } from '../../state-dir.ts';
import { Domains } from '../client/domains.ts';
import { Jobs } from '../client/jobs.ts';
import { QemuMonitor } from '../client/qemu-monitor.ts';
import { SavedMemory, savedMemoryFolder } from '../client/saved-memory.ts';
import { Virsh } from '../client/virsh.ts';
import { GuestAgent } from '../guest/guest-agent.ts';
import { References } from '../layers/references.ts';
import { SharedLock } from '../layers/source-use.ts';
import { Sources } from '../layers/sources.ts';
import { Leases } from '../network/leases.ts';
import { DEFAULT_NETWORKS, type NetworkPlans } from '../network/network-plan.ts';
import { QemuProcesses } from '../watch/qemu-processes.ts';

export interface LibvirtOptions {
  uri: string;
  state: StateDir;
  /** `@default` {@link DEFAULT_NETWORKS} */
  networks?: NetworkPlans;
  /** libvirt's dnsmasq folder as this process sees it. `@default` /var/lib/libvirt/dnsmasq */
  leaseFolder?: string;
  /** False: its libvirt makes no cgroups. `@default` detected by a probe */
  cgroups?: false;
  /** Enables templates and waking from them. `@default` true */
  templates?: boolean;
  /** Path of mayfly-diff. Without it comparisons fail. */
  diffProgram?: string;
}

/** Makes the shared parts of a libvirt host, without calling libvirt. */
export function libvirtTools(options: LibvirtOptions) {
  const { uri, state, networks = DEFAULT_NETWORKS, leaseFolder = '/var/lib/libvirt/dnsmasq' } = options;
  const virsh = new Virsh(uri, state.scratch);
  const domains = new Domains(virsh);
  const digests = new BaseDigests(state.images);
  return {
    state,
    networks,
    virsh,
    domains,
    digests,
    monitor: new QemuMonitor(virsh),
    jobs: new Jobs(virsh),
    agent: new GuestAgent(virsh, domains),
    processes: new QemuProcesses(),
    sources: new Sources(virsh, digests),
    references: new References(state, digests),
    leases: new Leases(leaseFolder, [networks.isolated.bridge, networks.internet.bridge]),
    saved: new SavedMemory(savedMemoryFolder(leaseFolder)),
    /** Locks against the deletion of a source in use. */
    use: new SharedLock({ code: 'source_not_found', what: 'deleted' }),
    /** Locks against the start of a source whose disks must be at rest. */
    rest: new SharedLock({ code: 'source_running', what: 'started' }),
  };
}
export type LibvirtTools = ReturnType<typeof libvirtTools>;
