import { isIPv4 } from 'node:net';
import type { RunningSource, SourceAddress } from '../../console.ts';
import { nullIfRefused, type Virsh } from '../client/virsh.ts';
import { AgentConsole } from '../guest/agent-console.ts';
import { activeXml, type Source } from '../layers/sources.ts';

/**
 * Origins of addresses, in order of trust: leases of libvirt's DHCP server, the guest agent, the bridge's ARP table. A
 * source's network need not be ours, and each may be wrong: the pinned host key decides.
 */
const ADDRESS_ORIGINS = ['lease', 'agent', 'arp'] as const;

/** @throws MayflyError source_not_running */
export function runningSource(virsh: Virsh, source: Source): RunningSource {
  activeXml(source);
  return {
    console: new AgentConsole(virsh, source.name),
    addresses: () => addressesOf(virsh, source.name),
  };
}

async function addressesOf(virsh: Virsh, name: string): Promise<SourceAddress[]> {
  const found = new Set<string>();
  for (const way of ADDRESS_ORIGINS) {
    for (const address of await queryAddresses(virsh, name, way)) found.add(address);
  }
  return [...found].map((address) => ({ address, port: null }));
}

/** Parses lines like ` vnet0  52:54:00:…  ipv4  192.0.2.7/24`; the guest chooses its interfaces' names in its agent. */
async function queryAddresses(virsh: Virsh, name: string, way: (typeof ADDRESS_ORIGINS)[number]): Promise<string[]> {
  // refused: no agent, or no network of libvirt's; the other origins remain
  const text = await nullIfRefused(virsh.run(['domifaddr', `--domain=${name}`, `--source=${way}`]));
  return (text ?? '')
    .split('\n')
    .map((line) => /\sipv4\s+([0-9.]+)\/\d{1,2}\s*$/.exec(line)?.[1] ?? '')
    .filter((address) => isIPv4(address) && !/^(?:0|127|169\.254|22[4-9]|23\d)\./.test(address));
}
