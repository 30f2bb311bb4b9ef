import { getServers } from 'node:dns';
import { isIPv4 } from 'node:net';
import { join } from 'node:path';
import type { Failpoints } from '../host/failpoints.ts';
import type { Hypervisor } from '../host/hypervisor.ts';
import { LibvirtHypervisor } from '../host/libvirt/driver.ts';
import { registerGolden } from '../host/libvirt/golden.ts';
import { DEFAULT_NETWORKS, type NetworkPlans } from '../host/libvirt/network-plan.ts';
import { startPrivateLibvirtd } from '../host/libvirt/private-libvirtd.ts';
import { Virsh } from '../host/libvirt/virsh.ts';
import { SimulatedHypervisor } from '../host/simulated/driver.ts';
import type { StateDir } from '../host/state-dir.ts';
import { MayflyError } from '../model/errors.ts';
import { goldenImage } from '../scripts/setup/artifacts.mjs';
import type { Config } from './config.ts';

/** Opened, and whatever had to be started for it. */
export interface OpenHypervisor {
  hypervisor: Hypervisor;
  /** Ends what was started for this installation alone: a private libvirtd with all it runs. */
  end(): Promise<void>;
}

/** @throws MayflyError host_unavailable */
export async function openHypervisor(config: Config, state: StateDir, failpoints: Failpoints): Promise<OpenHypervisor> {
  return config.hostKind === 'simulated' ? openSimulated(state, failpoints) : openLibvirt(config, state);
}

async function openSimulated(state: StateDir, failpoints: Failpoints): Promise<OpenHypervisor> {
  const hypervisor = new SimulatedHypervisor({ state, failpoints });
  await hypervisor.open();
  return { hypervisor, end: async () => {} };
}

/** The libvirtd that is named, the one that runs on this machine, or else one of our own. */
async function openLibvirt(config: Config, state: StateDir): Promise<OpenHypervisor> {
  const given = config.libvirtUri ?? ((await runsHere()) ? SYSTEM_URI : 'private');
  const own = given === 'private' ? await startPrivateLibvirtd(join(state.root, 'libvirt')) : null;
  const uri = own?.uri ?? given;
  const networks = plans(config);
  const hypervisor = new LibvirtHypervisor({ uri, state, networks, ...(own && { leaseFolder: own.leaseFolder }) });
  await hypervisor.open();
  const image = goldenImage();
  if (image) await registerGolden(new Virsh(uri), state, image.dir);
  return { hypervisor, end: async () => own?.stop({ machines: true }) };
}

const SYSTEM_URI = 'qemu:///system';

async function runsHere(): Promise<boolean> {
  try {
    await new Virsh(SYSTEM_URI).run(['uri']);
    return true;
  } catch (err) {
    if (err instanceof MayflyError && err.code === 'host_unavailable') return false;
    throw err;
  }
}

function plans({ subnets }: Config): NetworkPlans {
  return {
    isolated: { ...DEFAULT_NETWORKS.isolated, subnet: subnets.isolated },
    internet: { ...DEFAULT_NETWORKS.internet, subnet: subnets.internet },
    dnsServers: getServers().filter(isIPv4),
  };
}
