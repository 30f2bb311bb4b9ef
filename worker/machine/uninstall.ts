import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { readInstallation } from '../../host/installation.ts';
import { Virsh } from '../../host/libvirt/client/virsh.ts';
import { child, childElements, parseXml } from '../../host/libvirt/client/xml.ts';
import { removeFirewall } from '../../host/libvirt/network/firewall.ts';
import { endPrivateLibvirtd } from '../../host/libvirt/network/private-libvirtd.ts';
import { names } from '../../host/libvirt/output/tables.ts';
import { entriesOf } from '../../host/os/directory.ts';
import { exec } from '../../host/os/exec.ts';
import { StateDir } from '../../host/state-dir.ts';
import { cacheDir } from '../config/artifacts.mjs';
import { Closers } from '../config/closers.ts';
import type { Config } from '../config/config.ts';
import { InstallationLock } from '../servers/installation-lock.ts';
import { ownAddress, unguard } from '../servers/loopback-guard.ts';
import { HostLock } from './host-lock.ts';
import { networkPlans, privateFolder, readMarks, runningLibvirt } from './hypervisor.ts';

interface Removal {
  /** Description for a person. */
  what: string;
  remove: () => Promise<void>;
}

/** Parts of Mayfly on this machine; locks keep processes of the state folder from starting. */
interface Installed {
  /** Sandboxes with residue on this machine: they must be destroyed, with proof, first. */
  sandboxIds: string[];
  /** In removal order; all of it belongs to Mayfly alone. */
  removals: Removal[];
}

/**
 * Lists everything that set-up and `mayfly up` have created on this machine.
 * @throws MayflyError state_folder_in_use, host_unavailable while a part of it runs
 */
export async function withInstalledParts<T>(config: Config, use: (installed: Installed) => Promise<T>): Promise<T> {
  const state = new StateDir(config.stateDir);
  const cache = cacheDir();
  const ofCache = (await isThere(cache))
    ? [folderRemoval(`${cache}: programs and images that set-up made`, cache)]
    : [];
  if (!(await isThere(state.root))) return use({ sandboxIds: [], removals: ofCache });
  const closers = new Closers();
  try {
    const lock = await InstallationLock.take(state.root);
    closers.add('lock of the state folder', () => lock.release());
    const hostLock = await HostLock.take(state.root);
    closers.add('lock of the host', () => hostLock.release());
    const marks = await readMarks(config, state);
    const removals = [...(await libvirtRemovals(config, state)), await stateRemoval(state), ...ofCache];
    return await use({ sandboxIds: [...new Set(marks.map(({ sandboxId }) => sandboxId))], removals });
  } finally {
    await closers.close();
  }
}

async function stateRemoval({ root, snapshots, captures }: StateDir): Promise<Removal> {
  const kept = [(await entriesOf(snapshots)) ?? [], (await entriesOf(captures)) ?? []].flat().length;
  const what = `${root}: keys, audit, records${kept > 0 ? `, ${kept} snapshots, templates and captures` : ''}`;
  const folder = folderRemoval(what, root);
  return {
    what,
    async remove() {
      await unguard(ownAddress(root));
      await folder.remove();
    },
  };
}

/** Lists networks with their firewall rules, and sources; or Mayfly's own libvirtd with everything in it. */
async function libvirtRemovals(config: Config, state: StateDir): Promise<Removal[]> {
  const folder = privateFolder(state);
  if ((await entriesOf(folder)) !== null) {
    const remove = () => endPrivateLibvirtd(folder);
    return [{ what: `the libvirtd of ${folder}, with its networks and their firewall's rules`, remove }];
  }
  if ((await readInstallation(state))?.libvirtd !== 'system') return [];
  const uri = await runningLibvirt(config, state);
  if (uri === null) return [];
  const virsh = new Virsh(uri);
  const { isolated, internet } = networkPlans(config);
  const [defined, active] = [
    names(await virsh.run(['net-list', '--all', '--name'])),
    names(await virsh.run(['net-list', '--name'])),
  ];
  const networks = [isolated, internet].filter(({ name }) => defined.includes(name));
  const sources = await sourcesOf(virsh, state);
  return [
    ...sources.map((name) => ({
      what: `the domain ${name}, whose disks are in ${state.images}`,
      remove: async () => void (await virsh.run(['undefine', `--domain=${name}`])),
    })),
    ...networks.map(({ name, bridge }) => ({
      what: `the network ${name} of libvirt, with its firewall's rules`,
      async remove() {
        if (active.includes(name)) await virsh.run(['net-destroy', name]);
        await virsh.run(['net-undefine', name]);
        await removeFirewall(bridge);
      },
    })),
  ];
}

/** Returns domains that are off and have every disk in Mayfly's folder of images. */
async function sourcesOf(virsh: Virsh, state: StateDir): Promise<string[]> {
  const found: string[] = [];
  for (const name of names(await virsh.run(['list', '--inactive', '--name']))) {
    const devices = child(parseXml(await virsh.run(['dumpxml', `--domain=${name}`])), 'devices');
    const disks = devices === undefined ? [] : childElements(devices, 'disk');
    const files = disks.map((disk) => child(disk, 'source')?.attributes['file'] ?? '');
    if (files.length > 0 && files.every((file) => file.startsWith(join(state.images, '/')))) found.push(name);
  }
  return found;
}

/** Removes a folder, but no file system mounted below it. */
function folderRemoval(what: string, folder: string): Removal {
  return { what, remove: async () => void (await exec('rm', ['-rf', '--one-file-system', '--', folder])) };
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
