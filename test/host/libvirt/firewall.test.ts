import { describe, expect, it } from 'vitest';
import { firewallRules } from '../../../host/libvirt/network/firewall.ts';
import { DEFAULT_NETWORKS } from '../../../host/libvirt/network/network-plan.ts';

/** Returns the rules of one chain, without indentation. */
function chain(rules: string, name: string): string[] {
  const body = new RegExp(`chain ${name} \\{\\n(.*?)\\n  \\}`, 's').exec(rules)?.[1] ?? '';
  return body.split('\n').map((line) => line.trim());
}

describe('the rules of the firewall', () => {
  it('allow a guest only DHCP to the host', () => {
    expect(chain(firewallRules(DEFAULT_NETWORKS), 'input')).toEqual([
      'type filter hook input priority filter - 1; policy accept;',
      'iifname != { "mayfly0", "mayfly1" } accept',
      'ct state established,related accept',
      'meta nfproto ipv4 udp sport 68 udp dport 67 accept',
      'drop',
    ]);
  });

  it('forward guests with egress to public addresses only, and others nowhere', () => {
    const rules = chain(firewallRules(DEFAULT_NETWORKS), 'forward');
    const accepted = rules.filter((rule) => rule.endsWith('accept')).slice(2); // skips foreign packets and replies
    expect(accepted).toHaveLength(1);
    expect(accepted[0]).toMatch(/^iifname "mayfly1" meta nfproto ipv4 ip daddr != \{/);
    for (const network of ['10.0.0.0/8', '100.64.0.0/10', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'])
      expect(accepted[0]).toContain(network);
    expect(rules.at(-1)).toBe('drop');
  });

  it('allow guests with egress to query their resolvers, before private addresses are refused', () => {
    const rules = chain(firewallRules({ ...DEFAULT_NETWORKS, dnsServers: ['192.168.1.1', '10.0.0.2'] }), 'forward');
    const asking = (server: string) =>
      `iifname "mayfly1" ip daddr ${server} meta l4proto { tcp, udp } th dport 53 accept`;
    expect(rules.slice(4, 6)).toEqual([asking('192.168.1.1'), asking('10.0.0.2')]);
    expect(rules[6]).toContain('ip daddr !=');
  });

  it('replace only the table of this installation', () => {
    const rules = firewallRules(DEFAULT_NETWORKS);
    expect(rules.split('\n').slice(0, 3)).toEqual([
      'table inet mayfly_mayfly0',
      'delete table inet mayfly_mayfly0',
      'table inet mayfly_mayfly0 {',
    ]);
    expect(new Set(rules.match(/table \S+ \S+/g))).toEqual(new Set(['table inet mayfly_mayfly0']));
  });
});
