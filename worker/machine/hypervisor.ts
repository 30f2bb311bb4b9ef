import { getServers } from 'node:dns';
import { isIPv4 } from 'node:net';
import { dirname, join } from 'node:path';
import type { Failpoints } from '../../host/failpoints.ts';
import type { Hypervisor, Mark } from '../../host/hypervisor.ts';
import {
  type FoundMachine,
  type Installation,
  machineId,
  readInstallation,
  refuseAnotherKind,
  refuseAnotherMachine,
} from '../../host/installation.ts';
import { hostUuidOf } from '../../host/libvirt/client/host-uuid.ts';
import { SavedMemory, savedMemoryFolder } from '../../host/libvirt/client/saved-memory.ts';
import { Virsh } from '../../host/libvirt/client/virsh.ts';
import { LibvirtHypervisor } from '../../host/libvirt/driver.ts';
import { defineGolden, isPlaced, registeredGolden, registerGolden } from '../../host/libvirt/golden.ts';
import { marksAtRest } from '../../host/libvirt/marks-at-rest.ts';
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

/** Opened, and whatever had to be started for it. */
export interface OpenHypervisor {
  hypervisor: Hypervisor;
  /** The machine that it was found on. */
  found: FoundMachine;
  /** Whether a libvirtd of our own had to be started for it. */
  isNew: boolean;
  /** Starts what was started for it once more where it has died: a private libvirtd. @throws MayflyError host_unavailable */
  revive(): Promise<void>;
  /** Loads the rules that keep guests apart anew where somebody has changed them, and says which. @throws ExecError */
  mendRules(): Promise<string[]>;
  /** Ends what was started for this installation alone: a private libvirtd with all it runs. */
  end(): Promise<void>;
}

/**
 * @param known what the folder is tied to
 * @throws MayflyError host_unavailable; another_installation, before anything of the machine was changed
 */
export async function openHypervisor(
  config: Config,
  state: StateDir,
  failpoints: Failpoints,
  known: Installation | null = null,
): Promise<OpenHypervisor> {
  refuseAnotherKind(state, known, config.hostKind);
  return config.hostKind === 'simulated' ? openSimulated(state, failpoints, known) : openLibvirt(config, state, known);
}

/**
 * What {@link Hypervisor.marks} says, without opening the hypervisor: nothing is started, defined or made, so it may be
 * asked on any machine, also beside its host worker.
 * @throws MayflyError host_unavailable when a libvirtd that should answer does not
 */
export async function hypervisorMarks(config: Config, state: StateDir): Promise<Mark[]> {
  if (config.hostKind === 'simulated') {
    if ((await entriesOf(state.sandboxes)) === null) return [];
    const hypervisor = new SimulatedHypervisor({ state });
    await hypervisor.openToLook();
    return hypervisor.marks();
  }
  const given = await chosenLibvirt(config, state, await readInstallation(state));
  const networks = networkPlans(config);
  if (given !== PRIVATE) return new LibvirtHypervisor({ uri: given, state, networks }).marks();
  const folder = privateFolder(state);
  const leaseFolder = leaseFolderOf(folder);
  const running = await findPrivateLibvirtd(folder);
  if (running) return new LibvirtHypervisor({ uri: running.uri, state, networks, leaseFolder }).marks();
  const bridges = [networks.isolated.bridge, networks.internet.bridge];
  const saved = new SavedMemory(savedMemoryFolder(leaseFolder));
  return marksAtRest(definitionsOf(folder), saved, new Leases(leaseFolder, bridges), state);
}

/** Returns a hypervisor that only reads this machine: it is not opened, and starts nothing. */
export function closedHypervisor({ hostKind, libvirtUri: uri = SYSTEM_URI }: Config, state: StateDir): Hypervisor {
  return hostKind === 'simulated' ? new SimulatedHypervisor({ state }) : new LibvirtHypervisor({ uri, state });
}

async function openSimulated(
  state: StateDir,
  failpoints: Failpoints,
  known: Installation | null,
): Promise<OpenHypervisor> {
  const guest = guestBinaries();
  if (!guest) throw new MayflyError('host_unavailable', 'The guest agent is not built: run `npm run setup`.');
  const id = await machineId();
  const found = { kind: 'simulated', libvirtd: null, hostUuid: id, mayChange: false, machineId: id } as const;
  refuseAnotherMachine(state, known, found);
  const hypervisor = new SimulatedHypervisor({ state, failpoints, agentFolder: dirname(guest.agent) });
  await hypervisor.open();
  return { hypervisor, found, isNew: false, revive: async () => {}, mendRules: async () => [], end: async () => {} };
}

async function openLibvirt(config: Config, state: StateDir, known: Installation | null): Promise<OpenHypervisor> {
  const given = await chosenLibvirt(config, state, known);
  const own = given === PRIVATE ? await startPrivateLibvirtd(privateFolder(state)) : null;
  try {
    const uri = own?.uri ?? given;
    const found = await foundMachine(new Virsh(uri), own ? 'private' : 'system');
    refuseAnotherMachine(state, known, found);
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

/** Machines outlive the daemon, but not the namespaces that hold it: with those their networks are gone too. */
async function revivePrivate(state: StateDir, hypervisor: LibvirtHypervisor): Promise<void> {
  const { isNew } = await startPrivateLibvirtd(privateFolder(state));
  if (isNew) await hypervisor.openNetworks();
}

/** The image of set-up always; another where it was pulled, unless a source that is none of ours has its name. */
async function registerImages(virsh: Virsh, state: StateDir): Promise<void> {
  const image = goldenImage();
  if (image) await registerGolden(virsh, state, image.dir);
  for (const name of pulledImages) {
    const pulled = goldenImage(name);
    if (!pulled || !(await isPlaced(state, pulled.dir))) continue;
    if ((await registeredGolden(virsh, state, name)) !== 'foreign') await defineGolden(virsh, state, pulled.dir);
  }
}

/** Where this installation's libvirt answers, without starting anything; null: it is one of our own, which does not run. */
export async function runningLibvirt(config: Config, state: StateDir): Promise<string | null> {
  const given = await chosenLibvirt(config, state, await readInstallation(state));
  return given === PRIVATE ? ((await findPrivateLibvirtd(privateFolder(state)))?.uri ?? null) : given;
}

/** Where a libvirtd of our own answers, whichever is chosen; null: none runs. */
export async function ownLibvirt(state: StateDir): Promise<string | null> {
  return (await findPrivateLibvirtd(privateFolder(state)))?.uri ?? null;
}

const SYSTEM_URI = 'qemu:///system';
const PRIVATE = 'private';

/**
 * The libvirtd that this folder's machines run under. Where that was never chosen: the one that is named, the system's where
 * it answers, or else one of our own.
 * @throws MayflyError another_installation when another is named than was chosen
 */
async function chosenLibvirt({ libvirtUri }: Config, state: StateDir, known: Installation | null): Promise<string> {
  if (known?.libvirtd === 'private') {
    if (libvirtUri === undefined || libvirtUri === PRIVATE) return PRIVATE;
    const why = `The machines of ${state.root} run under a libvirtd of its own, and MAYFLY_LIBVIRT_URI is ${libvirtUri}`;
    throw new MayflyError('another_installation', `${why}. Unset it, or use another MAYFLY_STATE_DIR.`);
  }
  if (libvirtUri !== undefined) return libvirtUri;
  if (known?.libvirtd === 'system') return SYSTEM_URI;
  if (await findPrivateLibvirtd(privateFolder(state))) return PRIVATE; // chosen before choices were remembered
  return (await runsHere()) ? SYSTEM_URI : PRIVATE;
}

/** A libvirtd of our own is told to name the machine by the machine's own id, see {@link startPrivateLibvirtd}; one that runs yet may not have been. */
async function foundMachine(virsh: Virsh, libvirtd: 'system' | 'private'): Promise<FoundMachine> {
  const own = await machineId();
  if (libvirtd === 'private' && own !== null) {
    return { kind: 'libvirt', libvirtd, hostUuid: own, mayChange: false, machineId: own };
  }
  return { kind: 'libvirt', libvirtd, ...(await hostUuidOf(virsh)), machineId: own };
}

/** Of a libvirtd of our own. */
export function privateFolder(state: StateDir): string {
  return join(state.root, 'libvirt');
}

async function runsHere(): Promise<boolean> {
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
