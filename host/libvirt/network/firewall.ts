import { GUEST_LIMITS } from '../../../model/limits.ts';
import { loadRules, removeTables } from '../../os/nft.ts';
import type { NetworkPlans } from './network-plan.ts';
import { type Elements, elementsOf, LOOKED_AT, PAST_THE_BRIDGE, portRules } from './port-rules.ts';

/** Not the internet (RFC 6890 and multicast): guests with egress do not reach these, whatever the host can reach. */
const NOT_PUBLIC =
  '0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.0.0.0/24, 192.168.0.0/16, 198.18.0.0/15, 224.0.0.0/3';

/**
 * The nftables table of one installation. A guest reaches of the host nothing but DHCP; what the host began (SSH)
 * may be answered. Guests without egress are forwarded nowhere, guests with egress to public IPv4 addresses and to
 * the resolvers they were told of, by so many connections that the host can keep track of everybody's. What did not come
 * in by a port that was looked at ({@link portRules}) is nobody's.
 */
export function firewallRules({ isolated, internet, dnsServers }: NetworkPlans): string {
  const table = tableOf(isolated.bridge);
  const guests = `{ "${isolated.bridge}", "${internet.bridge}" }`;
  const resolvers = dnsServers.map(
    (server) => `    iifname "${internet.bridge}" ip daddr ${server} meta l4proto { tcp, udp } th dport 53 accept`,
  );
  return `table inet ${table}
delete table inet ${table}
table inet ${table} {
  set connections { type ipv4_addr; size 65535; flags dynamic; }
  chain prerouting {
    type filter hook prerouting priority raw; policy accept;
    ether daddr ${PAST_THE_BRIDGE} drop
    iifname != ${guests} accept
    meta mark != ${LOOKED_AT} drop
    meta mark set 0x0
  }
  chain postrouting {
    type filter hook postrouting priority srcnat + 1; policy accept;
    oifname ${guests} meta mark set ${LOOKED_AT}
  }
  chain input {
    type filter hook input priority filter - 1; policy accept;
    iifname != ${guests} accept
    ct state established,related accept
    meta nfproto ipv4 udp sport 68 udp dport 67 accept
    drop
  }
  chain forward {
    type filter hook forward priority filter - 1; policy accept;
    iifname != ${guests} oifname != ${guests} accept
    ct state established,related accept
    iifname ${guests} add @connections { ip saddr ct count over ${GUEST_LIMITS.network.connections} } drop
${[...resolvers, ''].join('\n')}    iifname "${internet.bridge}" meta nfproto ipv4 ip daddr != { ${NOT_PUBLIC} } accept
    drop
  }
}
`;
}

/** Each installation has a bridge for guests without egress, which no other on the machine can have. */
export function tableOf(isolatedBridge: string): string {
  return `mayfly_${isolatedBridge}`;
}

/**
 * Loads all rules, in one transaction: at no moment is the old table gone and the new one not there.
 * @param elements who may speak, and as whom. `@default` nobody
 */
export async function closeOff(plans: NetworkPlans, elements: Elements = elementsOf([], [])): Promise<void> {
  await loadRules(allRules(plans, elements));
}

/** What {@link closeOff} loads. */
export function allRules(plans: NetworkPlans, elements: Elements = elementsOf([], [])): string {
  const { isolated, internet } = plans;
  const bridges = [isolated.bridge, internet.bridge];
  return firewallRules(plans) + portRules(tableOf(isolated.bridge), bridges, elements);
}

/** Removes the rules that {@link closeOff} loaded, when the network of that bridge is gone; succeeds when there are none. */
export async function openUp(bridge: string): Promise<void> {
  await removeTables(['inet', 'bridge', 'arp'].map((family) => `${family} ${tableOf(bridge)}`));
}
