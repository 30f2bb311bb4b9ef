import { getServers } from 'node:dns';
import { isIPv4 } from 'node:net';
import { dirname, join } from 'node:path';
import type { Failpoints } from '../../host/failpoints.ts';
import type { Hypervisor, Mark } from '../../host/hypervisor.ts';
import {
  assertSameKind,
  assertSameMachine,
  type DetectedMachine,
  type Installation,
  readInstallation,
  readMachineId,
} from '../../host/installation.ts';
import { hostUuidOf } from '../../host/libvirt/client/host-uuid.ts';
import { SavedMemory, savedMemoryFolder } from '../../host/libvirt/client/saved-memory.ts';
import { Virsh } from '../../host/libvirt/client/virsh.ts';
import { LibvirtHypervisor } from '../../host/libvirt/driver.ts';
import { defineGolden, findGoldenBuild, isCopied, registerGolden } from '../../host/libvirt/golden.ts';
import { listResidueOffline } from '../../host/libvirt/marks-at-rest.ts';
import { Leases } from '../../host/libvirt/network/leases.ts';
import { DEFAULT_NETWORKS, type NetworkPlans } from '../../host/libvirt/network/network-plan.ts';
import {
  definitionsOf,
  findPrivateLibvirtd,
  leaseFolderOf,
  startPrivateLibvirtd,
} from '../../host/libvirt/network/private-libvirtd.ts';
import { entriesOf } from '../../host/os/directory.ts';
import { SimulatedHypervisor } from '../../host/simulated/driver.ts';
import type { StateDir } from '../../host/state-dir.ts';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { diffBinary, goldenImage, guestBinaries, pulledImages } from '../config/artifacts.mjs';
import type { Config } from '../config/config.ts';

/** Hypervisor that is open, with controls of its daemon. */
export interface OpenHypervisor {
  hypervisor: Hypervisor;
  found: DetectedMachine;
  /** True when Mayfly's own libvirtd had to be started. */
  isNew: boolean;
  /** Restarts the private libvirtd if it has died. @throws MayflyError host_unavailable */
  revive(): Promise<void>;
  /** Reloads changed firewall rules that isolate guests, and returns the changed tables. @throws ExecError */
  mendRules(): Promise<string[]>;
  /** Ends the private libvirtd that this installation started, with all it runs. */
  end(): Promise<void>;
}

/**
 * @param known binding of the folder
 * @throws MayflyError host_unavailable; another_installation, before any change to the machine
 */
export async function openHypervisor(
  config: Config,
  state: StateDir,
  failpoints: Failpoints,
  known: Installation | null = null,
): Promise<OpenHypervisor> {
  assertSameKind(state, known, config.hostKind);
  return config.hostKind === 'simulated' ? openSimulated(state, failpoints, known) : openLibvirt(config, state, known);
}

/**
 * Returns {@link Hypervisor.marks} without opening the hypervisor: starts, defines and creates nothing, so it may run
 * on any machine, also next to its host worker.
 * @throws MayflyError host_unavailable when a libvirtd that should answer does not
 */
export async function readMarks(config: Config, state: StateDir): Promise<Mark[]> {
  if (config.hostKind === 'simulated') {
    if ((await entriesOf(state.sandboxes)) === null) return [];
    const hypervisor = new SimulatedHypervisor({ state });
    await hypervisor.openToLook();
    return hypervisor.marks();
  }
  const given = await chooseLibvirt(config, state, await readInstallation(state));
  const networks = networkPlans(config);
  if (given !== PRIVATE) return new LibvirtHypervisor({ uri: given, state, networks }).marks();
  const folder = privateFolder(state);
  const leaseFolder = leaseFolderOf(folder);
  const running = await findPrivateLibvirtd(folder);
  if (running) return new LibvirtHypervisor({ uri: running.uri, state, networks, leaseFolder }).marks();
  const bridges = [networks.isolated.bridge, networks.internet.bridge];
  const saved = new SavedMemory(savedMemoryFolder(leaseFolder));
  return listResidueOffline(definitionsOf(folder), saved, new Leases(leaseFolder, bridges), state);
}

/** Returns a hypervisor that only reads this machine: it is not opened, and starts nothing. */
export function readOnlyHypervisor({ hostKind, libvirtUri: uri = SYSTEM_URI }: Config, state: StateDir): Hypervisor {
  return hostKind === 'simulated' ? new SimulatedHypervisor({ state }) : new LibvirtHypervisor({ uri, state });
}

async function openSimulated(
  state: StateDir,
  failpoints: Failpoints,
  known: Installation | null,
): Promise<OpenHypervisor> {
  const guest = guestBinaries();
  if (!guest) throw new MayflyError('host_unavailable', 'The guest agent is not built: run `npm run setup`.');
  const id = await readMachineId();
  const found = { kind: 'simulated', libvirtd: null, hostUuid: id, mayChange: false, machineId: id } as const;
  assertSameMachine(state, known, found);
  const hypervisor = new SimulatedHypervisor({ state, failpoints, agentFolder: dirname(guest.agent) });
  await hypervisor.open();
  return { hypervisor, found, isNew: false, revive: async () => {}, mendRules: async () => [], end: async () => {} };
}

async function openLibvirt(config: Config, state: StateDir, known: Installation | null): Promise<OpenHypervisor> {
  const given = await chooseLibvirt(config, state, known);
  const own = given === PRIVATE ? await startPrivateLibvirtd(privateFolder(state)) : null;
  try {
    const uri = own?.uri ?? given;
    const found = await identifyMachine(new Virsh(uri), own ? 'private' : 'system');
    assertSameMachine(state, known, found);
    const networks = networkPlans(config);
    const diffProgram = diffBinary();
    const hypervisor = new LibvirtHypervisor({
      uri,
      state,
      networks,
      templates: config.templates,
      ...(own && { leaseFolder: own.leaseFolder, cgroups: false }),
      ...(diffProgram !== null && { diffProgram }),
    });
    await hypervisor.open();
    await registerImages(new Virsh(uri, state.scratch), state);
    return {
      hypervisor,
      found,
      isNew: own?.isNew ?? false,
      revive: async () => {
        if (own) await revivePrivate(state, hypervisor);
      },
      mendRules: () => hypervisor.mendRules(),
      end: async () => own?.stop({ machines: true }),
    };
  } catch (error) {
    if (own?.isNew) await own.stop({ machines: true });
    throw error;
  }
}

/** Machines outlive the daemon, but not its namespaces: when those end, the networks must be made again. */
async function revivePrivate(state: StateDir, hypervisor: LibvirtHypervisor): Promise<void> {
  const { isNew } = await startPrivateLibvirtd(privateFolder(state));
  if (isNew) await hypervisor.openNetworks();
}

/** Registers the image of set-up always; another one where it was pulled, unless a foreign source has its name. */
async function registerImages(virsh: Virsh, state: StateDir): Promise<void> {
  const image = goldenImage();
  if (image) await registerGolden(virsh, state, image.dir);
  for (const name of pulledImages) {
    const pulled = goldenImage(name);
    if (!pulled || !(await isCopied(state, pulled.dir))) continue;
    if ((await findGoldenBuild(virsh, state, name)) !== 'foreign') await defineGolden(virsh, state, pulled.dir);
  }
}

/** Returns the URI of this installation's libvirt without starting anything; null: Mayfly's own, which does not run. */
export async function runningLibvirt(config: Config, state: StateDir): Promise<string | null> {
  const given = await chooseLibvirt(config, state, await readInstallation(state));
  return given === PRIVATE ? ((await findPrivateLibvirtd(privateFolder(state)))?.uri ?? null) : given;
}

/** Returns the URI of Mayfly's own libvirtd, even if not chosen; null: none runs. */
export async function ownLibvirt(state: StateDir): Promise<string | null> {
  return (await findPrivateLibvirtd(privateFolder(state)))?.uri ?? null;
}

const SYSTEM_URI = 'qemu:///system';
const PRIVATE = 'private';

/**
 * Returns the libvirtd that this folder's machines run under. Without an earlier choice: the configured one, the
 * running system's, or else a private one.
 * @throws MayflyError another_installation when the configured one differs from the chosen one
 */
async function chooseLibvirt({ libvirtUri }: Config, state: StateDir, known: Installation | null): Promise<string> {
  if (known?.libvirtd === 'private') {
    if (libvirtUri === undefined || libvirtUri === PRIVATE) return PRIVATE;
    const why = `The machines of ${state.root} run under a libvirtd of its own, and MAYFLY_LIBVIRT_URI is ${libvirtUri}`;
    throw new MayflyError('another_installation', `${why}. Unset it, or use another MAYFLY_STATE_DIR.`);
  }
  if (libvirtUri !== undefined) return libvirtUri;
  if (known?.libvirtd === 'system') return SYSTEM_URI;
  if (await findPrivateLibvirtd(privateFolder(state))) return PRIVATE; // not recorded by older versions
  return (await isSystemLibvirtRunning()) ? SYSTEM_URI : PRIVATE;
}

/**
 * Finds the machine's identity. A private libvirtd gets the machine's own id, see {@link startPrivateLibvirtd}; a
 * running one may have another.
 */
async function identifyMachine(virsh: Virsh, libvirtd: 'system' | 'private'): Promise<DetectedMachine> {
  const own = await readMachineId();
  if (libvirtd === 'private' && own !== null) {
    return { kind: 'libvirt', libvirtd, hostUuid: own, mayChange: false, machineId: own };
  }
  return { kind: 'libvirt', libvirtd, ...(await hostUuidOf(virsh)), machineId: own };
}

/** Returns the folder of Mayfly's own libvirtd. */
export function privateFolder(state: StateDir): string {
  return join(state.root, 'libvirt');
}

async function isSystemLibvirtRunning(): Promise<boolean> {
  try {
    await new Virsh(SYSTEM_URI).run(['uri']);
    return true;
  } catch (error) {
    if (isMayflyError(error, 'host_unavailable')) return false;
    throw error;
  }
}

export function networkPlans({ subnets }: Config): NetworkPlans {
  return {
    isolated: { ...DEFAULT_NETWORKS.isolated, subnet: subnets.isolated },
    internet: { ...DEFAULT_NETWORKS.internet, subnet: subnets.internet },
    dnsServers: getServers().filter(isIPv4),
  };
}
