import { describe, expect, it } from 'vitest';
import { child, parseXml } from '../../../host/libvirt/client/xml.ts';
import { networkXml } from '../../../host/libvirt/network/network.ts';
import { DEFAULT_NETWORKS } from '../../../host/libvirt/network/network-plan.ts';

const { isolated, internet } = DEFAULT_NETWORKS;

function optionsIn(xml: string): string[] {
  return [...xml.matchAll(/<dnsmasq:option value="([^"]*)"/g)].map(([, value]) => value ?? '');
}

describe('the definition of a network', () => {
  it('forwards nothing without egress, and gives out addresses only', () => {
    const xml = networkXml(isolated, null);
    const network = parseXml(xml);
    expect(child(network, 'forward')).toBeUndefined();
    expect(child(network, 'dns')?.attributes).toEqual({ enable: 'no' });
    expect(child(network, 'bridge')?.attributes).toEqual({ name: 'mayfly0', stp: 'off', delay: '0' });
    const ip = child(network, 'ip');
    expect(ip?.attributes).toEqual({ address: '10.213.0.1', prefix: '20' });
    const dhcp = ip && child(ip, 'dhcp');
    expect(dhcp && child(dhcp, 'range')?.attributes).toEqual({ start: '10.213.0.2', end: '10.213.15.254' });
    expect(optionsIn(xml)).toContain('no-ping');
    expect(xml).not.toContain('dns-server');
  });

  it('NATs with egress, and announces the resolvers to guests', () => {
    const xml = networkXml(internet, { dnsServers: ['192.0.2.1', '198.51.100.7'] });
    expect(child(parseXml(xml), 'forward')?.attributes).toEqual({ mode: 'nat' });
    expect(optionsIn(xml)).toContain('dhcp-option=option:dns-server,192.0.2.1,198.51.100.7');
  });

  it('announces no resolver where the host has none', () => {
    expect(networkXml(internet, { dnsServers: [] })).not.toContain('dns-server');
  });
});
