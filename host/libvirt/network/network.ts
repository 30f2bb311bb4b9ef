import { writeFile } from 'node:fs/promises';
import { MayflyError } from '../../../model/errors.ts';
import { type Virsh, VirshError } from '../client/virsh.ts';
import { buildXml, child, element, parseXml } from '../client/xml.ts';
import { startFailure } from '../output/failures.ts';
import { names } from '../output/tables.ts';
import { type NetworkPlan, type NetworkPlans, subnetOf } from './network-plan.ts';
import type { PortFilter } from './port-filter.ts';

/**
 * Retransmission time of ARP, ms. A guest configures its address some ms after the DHCPACK, so the first request often
 * gets no answer; the kernel's default of 1 s would delay every first connection.
 */
const ARP_RETRY_MS = 50;
const DNSMASQ_NAMESPACE = 'http://libvirt.org/schemas/network/dnsmasq/1.0';

/**
 * Ensures that both networks are defined, active and isolated by the firewall.
 * @throws MayflyError host_unavailable when a network of that name is another, or can't be started.
 */
export async function ensureNetworks(virsh: Virsh, plans: NetworkPlans, filter: PortFilter): Promise<void> {
  await filter.load(); // before there is a bridge to come in by
  const defined = names(await virsh.run(['net-list', '--all', '--name']));
  const active = names(await virsh.run(['net-list', '--name']));
  for (const plan of [plans.isolated, plans.internet]) {
    const xml = networkXml(plan, plan === plans.internet ? { dnsServers: plans.dnsServers } : null);
    if (!defined.includes(plan.name)) await virsh.define('net-define', xml);
    else await checkSame(virsh, plan);
    if (!active.includes(plan.name)) await start(virsh, plan);
    await setBridge(plan.bridge);
  }
}

/** Applies bridge settings that libvirt lacks. Link-local frames pass no rule and must not be learned from. */
export async function setBridge(bridge: string): Promise<void> {
  await writeFile(`/proc/sys/net/ipv4/neigh/${bridge}/retrans_time_ms`, String(ARP_RETRY_MS));
  await writeFile(`/sys/class/net/${bridge}/bridge/no_linklocal_learn`, '1');
}

/**
 * Returns the network's XML. No ping check: dnsmasq would wait for an answer before every offer, 4 s per lease. No DNS
 * on the bridge: a resolver is a service of the host, and a way out. Leases go by the MAC alone: systemd-networkd's
 * client id derives from the machine-id, so two clones of a booted source would get the same address.
 * @param egress null: isolated, libvirt forwards nothing
 */
export function networkXml(plan: NetworkPlan, egress: { dnsServers: string[] } | null): string {
  const { gateway, prefix, firstLease, lastLease } = subnetOf(plan.subnet);
  const options = ['no-ping', 'dhcp-ignore-clid'];
  if (egress && egress.dnsServers.length > 0)
    options.push(`dhcp-option=option:dns-server,${egress.dnsServers.join(',')}`);
  const dhcp = element('dhcp', {}, element('range', { start: firstLease, end: lastLease }));
  return buildXml(
    element(
      'network',
      { 'xmlns:dnsmasq': DNSMASQ_NAMESPACE },
      element('name', {}, plan.name),
      ...(egress ? [element('forward', { mode: 'nat' })] : []),
      element('bridge', { name: plan.bridge, stp: 'off', delay: '0' }),
      element('dns', { enable: 'no' }),
      element('ip', { address: gateway, prefix: String(prefix) }, dhcp),
      element('dnsmasq:options', {}, ...options.map((value) => element('dnsmasq:option', { value }))),
    ),
  );
}

async function start(virsh: Virsh, plan: NetworkPlan): Promise<void> {
  try {
    await virsh.run(['net-start', plan.name]);
  } catch (error) {
    if (!(error instanceof VirshError) || startFailure(error.stderr).result === 'ok') return;
    const why = `The network ${plan.name} (${plan.bridge}, ${plan.subnet}) could not be started: ${error.stderr.trim()}`;
    throw new MayflyError('host_unavailable', `${why}. Choose another subnet or bridge.`, { cause: error });
  }
}

async function checkSame(virsh: Virsh, plan: NetworkPlan): Promise<void> {
  const network = parseXml(await virsh.run(['net-dumpxml', '--inactive', plan.name]));
  const bridge = child(network, 'bridge')?.attributes['name'];
  const address = child(network, 'ip')?.attributes['address'];
  if (bridge === plan.bridge && address === subnetOf(plan.subnet).gateway) return;
  const is = `${bridge ?? 'no bridge'}, ${address ?? 'no address'}`;
  throw new MayflyError(
    'host_unavailable',
    `There is another network ${plan.name} already (${is}). Remove it (virsh net-destroy, net-undefine) or configure that one.`,
  );
}
