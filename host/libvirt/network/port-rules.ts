import { GUEST_LIMITS } from '../../../model/limits.ts';
import { type Binding, PORT_PREFIX, type Port } from './ports.ts';

/**
 * Mark of a packet that came in by a filtered port, or goes out to one of our bridges: a rule sees either the port or
 * the bridge, never both (`meta ibrname` needs a module that not every kernel has). It is removed before the host's own
 * rules see the packet.
 */
export const FILTERED_MARK = '0x6d66';

/**
 * Link-local frames, which bridges do not forward (IEEE 802.1D, table 7-10). Linux gives some to the port's own
 * interface, past the bridge and its rules: IP in such a frame would reach every service of the host.
 */
export const LINK_LOCAL_MACS = '01:80:c2:00:00:00-01:80:c2:00:00:0f';

/**
 * Fields of a BOOTP request from the UDP header (RFC 2131 §2): op 1, htype Ethernet, hlen 6, hops 0; giaddr; chaddr.
 */
const BOOTP = { head: '@th,64,32 0x01010600', noRelay: '@th,256,32 0x0', hardware: '@th,288,48' };

const SETS = ['ports', 'clients', 'addresses'] as const;

/** Elements of the sets, in nftables syntax. */
export type Elements = Record<(typeof SETS)[number], ReadonlySet<string>>;

/**
 * Returns the rules for a guest's traffic in both directions, as nftables tables of the families bridge and arp. A port
 * missing in the sets passes nothing. Default deny: only a successful match accepts, since a match fails on a packet
 * that is too short for it, and its rule is skipped.
 */
export function portRules(table: string, bridges: readonly string[], elements: Elements): string {
  const { arp, dhcp, frames } = GUEST_LIMITS.network;
  return `table bridge ${table}
delete table bridge ${table}
table bridge ${table} {
  set ports { type ifname . ether_addr; }
  set clients { typeof iifname . ${BOOTP.hardware}; }
  set addresses { type ether_addr . ipv4_addr; }
${['arp', 'dhcp', 'frames', 'bytes', 'received'].map(rateSet).join('\n')}
  chain prerouting {
    type filter hook prerouting priority filter; policy accept;
    iifname . ether saddr @ports goto from_port
    iifname "${PORT_PREFIX}*" drop
  }
  chain forward {
    type filter hook forward priority filter; policy accept;
    iifname "${PORT_PREFIX}*" drop
    oifname "${PORT_PREFIX}*" drop
  }
  chain output {
    type filter hook output priority filter; policy accept;
    meta mark ${FILTERED_MARK} goto to_port
  }
  chain from_port {
    update @frames_rate { iifname limit rate over ${frames.perSecond}/second burst ${frames.burst} packets } drop
    update @bytes_rate { iifname limit rate over ${frames.bytesPerSecond} bytes/second burst ${frames.bytesPerSecond} bytes } drop
    ether type arp goto arp_from_port
    ether type ip goto ipv4_from_port
    drop
  }
  chain arp_from_port {
    update @arp_rate { iifname limit rate over ${arp.perSecond}/second burst ${arp.burst} packets } drop
    arp htype 1 arp ptype ip arp hlen 6 arp plen 4 iifname . arp saddr ether @ports goto arp_of_port
    drop
  }
  chain arp_of_port {
    arp operation request arp saddr ip 0.0.0.0 goto looked_at
    arp operation { request, reply } arp saddr ether . arp saddr ip @addresses goto looked_at
    drop
  }
  chain ipv4_from_port {
    ip frag-off & 0x3fff != 0x0 drop
    udp dport 67 goto dhcp_from_port
    udp sport 67 drop
    ether saddr . ip saddr @addresses goto looked_at
    drop
  }
  chain dhcp_from_port {
    update @dhcp_rate { iifname limit rate over ${dhcp.perSecond}/second burst ${dhcp.burst} packets } drop
    udp sport 68 ${BOOTP.head} ${BOOTP.noRelay} iifname . ${BOOTP.hardware} @clients goto dhcp_of_port
    drop
  }
  chain dhcp_of_port {
    ip saddr 0.0.0.0 ip daddr 255.255.255.255 goto looked_at
    ether saddr . ip saddr @addresses goto looked_at
    drop
  }
  chain looked_at {
    meta mark set ${FILTERED_MARK} accept
  }
  chain to_port {
    update @received_rate { oifname limit rate over ${frames.bytesPerSecond} bytes/second burst ${frames.bytesPerSecond} bytes } drop
    oifname . ether daddr @ports accept
    ether daddr ff:ff:ff:ff:ff:ff ether type arp accept
    ether daddr ff:ff:ff:ff:ff:ff udp sport 67 udp dport 68 oifname . ${BOOTP.hardware} @clients accept
    drop
  }
}
${arpRules(table, bridges)}${formatUpdates(table, null, elements)}`;
}

/** Returns the rules for ARP, which the inet family never sees. */
function arpRules(table: string, bridges: readonly string[]): string {
  const ours = `{ ${bridges.map((bridge) => `"${bridge}"`).join(', ')} }`;
  return `table arp ${table}
delete table arp ${table}
table arp ${table} {
  chain input {
    type filter hook input priority filter; policy accept;
    ether daddr ${LINK_LOCAL_MACS} drop
    iifname ${ours} meta mark != ${FILTERED_MARK} drop
  }
  chain output {
    type filter hook output priority filter; policy accept;
    oifname ${ours} meta mark set ${FILTERED_MARK}
  }
}
`;
}

/** Returns the elements by set: permitted ports with their MACs and addresses. */
export function elementsOf(ports: readonly Port[], bindings: readonly Binding[]): Elements {
  const hex = (mac: string) => `0x${mac.replaceAll(':', '')}`;
  return {
    ports: new Set(ports.map(({ name, macAddress }) => `"${name}" . ${macAddress}`)),
    clients: new Set(ports.map(({ name, macAddress }) => `"${name}" . ${hex(macAddress)}`)),
    addresses: new Set(bindings.map(({ macAddress, address }) => `${macAddress} . ${address}`)),
  };
}

/**
 * Returns commands that update an existing table's sets; empty when nothing changes.
 * @param before the present elements; null: unknown
 */
export function formatUpdates(table: string, before: Elements | null, after: Elements): string {
  return SETS.map((set) => {
    const [old, wished] = [before?.[set] ?? new Set<string>(), after[set]];
    const flushed = before === null ? `flush set bridge ${table} ${set}\n` : '';
    const gone = formatElements(
      'delete',
      table,
      set,
      [...old].filter((element) => !wished.has(element)),
    );
    return (
      flushed +
      gone +
      formatElements(
        'add',
        table,
        set,
        [...wished].filter((element) => !old.has(element)),
      )
    );
  }).join('');
}

function formatElements(how: 'add' | 'delete', table: string, set: string, elements: readonly string[]): string {
  return elements.length === 0 ? '' : `${how} element bridge ${table} ${set} { ${elements.join(', ')} }\n`;
}

/** Returns a set with one rate limit for each port; silent ports expire. */
function rateSet(name: string): string {
  return `  set ${name}_rate { type ifname; size 65535; flags dynamic,timeout; timeout 1m; }`;
}
