import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { macAddress } from '../../../model/ids.ts';
import { type Finding, idIn } from './finding.ts';

const run = promisify(execFile);
const LIMIT = { maxBuffer: 64 * 1_048_576 };

/** Machines by libvirt, the kernel's network and the firewall. */
export interface LibvirtFindings {
  findings: Finding[];
  /** Returns the owner of an interface by MAC, or null. */
  ownerOf: (mac: string) => string | null;
}

interface Nic {
  owner: string;
  mac: string;
  tap: string | null;
}

/** Lists the machines of a libvirt. @param uri null: none */
export async function libvirtIn(uri: string | null): Promise<LibvirtFindings> {
  if (uri === null) return { findings: [], ownerOf: () => null };
  const virsh = async (...args: string[]) => (await run('virsh', ['-q', '-c', uri, ...args], LIMIT)).stdout;
  const names = (await virsh('list', '--all', '--name')).split('\n').filter((name) => name !== '');
  const nics = (await Promise.all(names.map(async (name) => nicsOf(name, await virsh('dumpxml', name))))).flat();
  const ownerOf = (mac: string) => nics.find((nic) => nic.mac === mac)?.owner ?? null;
  const ours = names.filter((name) => idIn(name) !== null);
  const domains = ours.map((name): Finding => ({ kind: 'domain', id: idIn(name), where: `virsh list --all: ${name}` }));
  return { findings: [...domains, ...(await taps(nics)), ...(await firewall(nics, ours))], ownerOf };
}

function nicsOf(owner: string, xml: string): Nic[] {
  return [...xml.matchAll(/<interface [\s\S]*?<\/interface>/g)].flatMap(([nic]) => {
    const mac = /<mac address='([^']+)'/.exec(nic)?.[1];
    return mac === undefined ? [] : [{ owner, mac, tap: /<target dev='([^']+)'/.exec(nic)?.[1] ?? null }];
  });
}

/** Finds ports of Mayfly's bridges, each with its machine by MAC: QEMU gives the tap fe as first byte. */
async function taps(nics: readonly Nic[]): Promise<Finding[]> {
  const { stdout } = await run('ip', ['-j', 'link', 'show'], LIMIT);
  const links = JSON.parse(stdout) as { ifname: string; master?: string; address?: string }[];
  return links
    .filter(({ master }) => master?.startsWith('mayfly'))
    .map(({ ifname, master, address = '' }): Finding => {
      const nic = nics.find(({ tap, mac }) => tap === ifname || mac.slice(3) === address.slice(3));
      return { kind: 'tap', id: nic?.owner ?? null, where: `${ifname} on ${master} (${address})` };
    });
}

/** Finds ports and MACs in firewall rules; a rule may precede the interfaces in libvirt. */
async function firewall(nics: readonly Nic[], sandboxes: readonly string[]): Promise<Finding[]> {
  const { stdout } = await run('nft', ['list', 'ruleset'], LIMIT);
  const named = new Set(stdout.match(/\bvnet\d+\b|\b52:54:00(?::[0-9a-f]{2}){3}\b/g) ?? []);
  const mayHave = (id: string, mac: string) => Array.from({ length: 8 }, (_, nth) => macAddress(id, nth)).includes(mac);
  return [...named].map((name): Finding => {
    const nic = nics.find(({ tap, mac }) => tap === name || mac === name);
    const id = nic?.owner ?? sandboxes.find((sandbox) => mayHave(sandbox, name)) ?? null;
    return { kind: 'firewall', id, where: `nft list ruleset: ${name}` };
  });
}
