import { BaseDigests } from '../disk/base-digest.ts';
import { diskOf } from '../disk/host-disk.ts';
import type { StateDir } from '../state-dir.ts';
import { LibvirtBaking } from './bake/baking.ts';
import { Builder } from './bake/builder.ts';
import { LibvirtCaptures } from './capture/captures.ts';
import { Domains } from './client/domains.ts';
import { Jobs } from './client/jobs.ts';
import { QemuMonitor } from './client/qemu-monitor.ts';
import { Virsh } from './client/virsh.ts';
import { Freezer } from './guest/freezer.ts';
import { GuestAgent } from './guest/guest-agent.ts';
import { BlockPull } from './layers/block-pull.ts';
import { DiskSwitch } from './layers/disk-switch.ts';
import { Flattening } from './layers/flattening.ts';
import { OrphanedSwitches } from './layers/orphaned-switches.ts';
import { References } from './layers/references.ts';
import { SourceUse } from './layers/source-use.ts';
import { Sources } from './layers/sources.ts';
import { Unquiescing } from './layers/unquiescing.ts';
import { workspaceIds } from './layers/workspace.ts';
import { Hibernation } from './memory/hibernation.ts';
import { SavedMemory, savedMemoryFolder } from './memory/saved-memory.ts';
import { Waking } from './memory/waking.ts';
import { Leases } from './network/leases.ts';
import { DEFAULT_NETWORKS, type NetworkPlans } from './network/network-plan.ts';
import { PortFilter } from './network/port-filter.ts';
import { Residue } from './residue.ts';
import { LibvirtSnapshots } from './snapshot/snapshots.ts';
import { DiskSharing } from './source/disk-sharing.ts';
import { LibvirtSourcePower } from './source/source-power.ts';
import { Machines } from './watch/machines.ts';
import { QemuProcesses } from './watch/qemu-processes.ts';

export interface LibvirtOptions {
  /** libvirt connection URI, e.g. `qemu:///system`. */
  uri: string;
  state: StateDir;
  /** `@default` {@link DEFAULT_NETWORKS} */
  networks?: NetworkPlans;
  /** libvirt's dnsmasq folder as this process sees it. `@default` /var/lib/libvirt/dnsmasq */
  leaseFolder?: string;
  /** Whether its libvirt makes cgroups for what it starts. `@default` it is tried */
  cgroups?: false;
  /** Whether it makes templates, and wakes from them. `@default` true */
  templates?: boolean;
  /** Path of mayfly-diff. Without it nothing is compared. */
  diffProgram?: string;
}

/** What the steps of a machine with libvirt are made of. */
export interface LibvirtParts {
  state: StateDir;
  virsh: Virsh;
  networks: NetworkPlans;
  leases: Leases;
  filter: PortFilter;
  domains: Domains;
  processes: QemuProcesses;
  machines: Machines;
  sources: Sources;
  digests: BaseDigests;
  agent: GuestAgent;
  references: References;
  flattening: Flattening;
  residue: Residue;
  /** Who needs a source to be there. */
  use: SourceUse;
  /** Who needs its disks to be at rest. */
  rest: SourceUse;
  waking: Waking;
  saved: SavedMemory;
  hibernation: Hibernation;
  snapshots: LibvirtSnapshots;
  baking: LibvirtBaking;
  captures: LibvirtCaptures;
  power: LibvirtSourcePower;
}

/** Makes each part, with the others that it needs. Nothing is asked of libvirt yet. */
export function partsOf(options: LibvirtOptions): LibvirtParts {
  const { uri, state, networks = DEFAULT_NETWORKS, diffProgram = null } = options;
  const { leaseFolder = '/var/lib/libvirt/dnsmasq' } = options;
  const virsh = new Virsh(uri, state.scratch);
  const monitor = new QemuMonitor(virsh);
  const domains = new Domains(virsh);
  const digests = new BaseDigests(state.images);
  const sources = new Sources(virsh, digests);
  const jobs = new Jobs(virsh);
  const agent = new GuestAgent(virsh, domains);
  const leases = new Leases(leaseFolder, [networks.isolated.bridge, networks.internet.bridge]);
  const saved = new SavedMemory(savedMemoryFolder(leaseFolder));
  const references = new References(state, digests);
  const use = new SourceUse({ code: 'source_not_found', what: 'deleted' });
  const rest = new SourceUse({ code: 'source_running', what: 'started' });
  const flattening = new Flattening({ state, blockPull: new BlockPull(virsh, monitor), references });
  const freezer = new Freezer(virsh, domains);
  const unquiescing = new Unquiescing({ domains, agent, freezer, jobs, disk: () => diskOf(state.root) });
  const orphanedSwitches = new OrphanedSwitches(virsh, monitor);
  const diskSwitch = new DiskSwitch({ state, virsh, domains, jobs, freezer, unquiescing, orphanedSwitches });
  const builder = new Builder(virsh, domains, agent);
  const processes = new QemuProcesses();
  const common = {
    state,
    virsh,
    domains,
    processes,
    sources,
    digests,
    agent,
    leases,
    saved,
    references,
    flattening,
    use,
    rest,
  };
  return {
    ...common,
    networks,
    filter: new PortFilter({ networks, leases, sandboxIds: () => workspaceIds(state) }),
    machines: new Machines(common),
    residue: new Residue(common),
    waking: new Waking(common),
    hibernation: new Hibernation({ ...common, jobs }),
    snapshots: new LibvirtSnapshots({ ...common, jobs, unquiescing, diskSwitch, diffProgram }),
    baking: new LibvirtBaking({ ...common, builder }),
    captures: new LibvirtCaptures(common),
    power: new LibvirtSourcePower({ ...common, sharing: new DiskSharing(common) }),
  };
}
