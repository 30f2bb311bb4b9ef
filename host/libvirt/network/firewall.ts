import { GUEST_LIMITS } from '../../../model/limits.ts';
import { loadRules, removeTables } from '../../os/nft.ts';
import type { NetworkPlans } from './network-plan.ts';
import { type Elements, elementsOf, FILTERED_MARK, LINK_LOCAL_MACS, portRules } from './port-rules.ts';

/** Addresses outside the internet (RFC 6890 and multicast): guests never reach them, even if the host can. */
const NOT_PUBLIC =
  '0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.0.0.0/24, 192.168.0.0/16, 198.18.0.0/15, 224.0.0.0/3';

/**
 * Returns the nftables table of one installation. Guests reach nothing of the host but DHCP; they may answer
 * connections of the host (SSH). Guests without egress are forwarded nowhere, guests with egress to public IPv4
 * addresses and to their configured resolvers, with a limit of connections per guest that protects the host's
 * connection tracking. Packets without the mark of {@link portRules} are dropped.
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
    ether daddr ${LINK_LOCAL_MACS} drop
    iifname != ${guests} accept
    meta mark != ${FILTERED_MARK} drop
    meta mark set 0x0
  }
  chain postrouting {
    type filter hook postrouting priority srcnat + 1; policy accept;
    oifname ${guests} meta mark set ${FILTERED_MARK}
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

/** Returns the table's name, unique on a machine, since each installation has its own isolated bridge. */
export function tableOf(isolatedBridge: string): string {
  return `mayfly_${isolatedBridge}`;
}

/**
 * Loads all rules in one transaction, so that a table always exists.
 * @param elements guests that may send, with their addresses. `@default` none
 */
export async function loadFirewall(plans: NetworkPlans, elements: Elements = elementsOf([], [])): Promise<void> {
  await loadRules(allRules(plans, elements));
}

/** Returns the rules for {@link loadFirewall}. */
export function allRules(plans: NetworkPlans, elements: Elements = elementsOf([], [])): string {
  const { isolated, internet } = plans;
  const bridges = [isolated.bridge, internet.bridge];
  return firewallRules(plans) + portRules(tableOf(isolated.bridge), bridges, elements);
}

/** Removes the rules of {@link loadFirewall} after the bridge's network; no-op without rules. */
export async function removeFirewall(bridge: string): Promise<void> {
  await removeTables(['inet', 'bridge', 'arp'].map((family) => `${family} ${tableOf(bridge)}`));
}
