import { expect, test } from 'vitest';
import {
  interfaceAddress,
  interfaceMacs,
  leasedAddress,
  neighbourAddress,
} from '../../../host/libvirt/output/addresses.ts';
import { listedDisks } from '../../../host/libvirt/output/disk-list.ts';
import { domainState } from '../../../host/libvirt/output/domain-state.ts';
import { residentSizes } from '../../../host/libvirt/output/domain-stats.ts';
import { queryFailure, removeFailure, startFailure } from '../../../host/libvirt/output/failures.ts';
import { nodeInfo, nodeMemory } from '../../../host/libvirt/output/node.ts';
import { names } from '../../../host/libvirt/output/tables.ts';

const MAC = '52:54:00:6b:3c:86';

test('domifaddr: header words, continuation rows, IPv6, loopback, agent output', () => {
  const head = ' Name       MAC address          Protocol     Address\n-----------------------\n';
  expect(interfaceAddress(head)).toBeNull();
  expect(interfaceAddress('')).toBeNull();
  expect(
    interfaceAddress(
      `${head} lo         00:00:00:00:00:00    ipv4         127.0.0.1/8\n -          -                    ipv6         ::1/128\n enp1s0     52:54:00:AB:cd:ef    ipv6         fd00::1/64\n -          -                    ipv4         10.1.2.3/24\n`,
    ),
  ).toEqual({ ip: '10.1.2.3', mac: '52:54:00:ab:cd:ef' });
  expect(interfaceAddress(`${head} vnet0      52:54:00:ab:cd:ef    N/A          N/A\n`)).toBeNull();
});

test('domiflist: a domain that is shut off, blanks in a source', () => {
  const head = ' Interface   Type      Source    Model    MAC\n----\n';
  expect(interfaceMacs(`${head} -           network   my net    virtio   ${MAC}\n\n`)).toEqual([MAC]);
  expect(interfaceMacs(head)).toEqual([]);
});

test('domblklist: with and without details, blanks in paths, empty drives', () => {
  const head = ' Type   Device   Target   Source\n-----\n';
  expect(
    listedDisks(`${head} file   disk     vda      /img/my golden  disk.qcow2\n file   cdrom    sda      /x.iso\n`),
  ).toEqual([{ kind: 'file', target: 'vda', source: '/img/my golden  disk.qcow2' }]);
  expect(listedDisks(' Target   Source\n-----\n vda      /img/a b.qcow2\n sda      -\n')).toEqual([
    { kind: null, target: 'vda', source: '/img/a b.qcow2' },
  ]);
  expect(
    listedDisks(`${head} network   disk   vda   pool/image\n volume   disk     vdb      v.qcow2\n`).map((d) => d.kind),
  ).toEqual(['network', 'volume']);
});

test('leases: newest expiry, endless lease, a MAC that is only part of a client id', () => {
  const row = (expiry: string, mac: string, ip: string, tail = 'h  -') =>
    ` ${expiry}   ${mac}   ipv4   ${ip}/24   ${tail}\n`;
  const two = row('2026-01-02 00:00:00', MAC, '10.0.0.9') + row('2026-01-01 00:00:00', MAC, '10.0.0.8');
  expect(leasedAddress(two, MAC.toUpperCase())).toBe('10.0.0.9');
  expect(leasedAddress(two + row('1970-01-01 01:00:00', MAC, '10.0.0.7'), MAC)).toBe('10.0.0.7');
  expect(leasedAddress(row('2026-01-02 00:00:00', '52:54:00:00:00:01', '10.0.0.5', `h  01:${MAC}`), MAC)).toBeNull();
});

test('neighbours: the freshest state, never one that has not answered, never IPv6', () => {
  const lines = [
    `fe80::1 dev virbr0 lladdr ${MAC} REACHABLE`,
    `10.0.0.2 dev virbr0 lladdr ${MAC} STALE`,
    `10.0.0.3 dev virbr0 lladdr ${MAC} extern_learn REACHABLE`,
    `10.0.0.4 dev virbr0 lladdr ${MAC} FAILED`,
    '10.0.0.5 dev virbr0  FAILED',
  ];
  expect(neighbourAddress(lines.join('\n'), MAC)).toBe('10.0.0.3');
  expect(neighbourAddress(lines.slice(0, 2).join('\n'), MAC)).toBe('10.0.0.2');
  expect(neighbourAddress(lines.slice(3).join('\n'), MAC)).toBeNull();
});

test.each([
  ['shut off', 'shut_off'],
  ['idle', 'running'],
  ['pmsuspended', 'suspended'],
  ['crashed', 'crashed'],
  ['no state', 'unknown'],
  ['läuft', 'unknown'],
  ['', 'unknown'],
  ['paused (user)', 'paused'],
  ['constructor', 'unknown'],
])('domstate %s', (text, state) => {
  expect(domainState(text)).toBe(state);
});

test('failures', () => {
  expect(queryFailure("error: failed to get domain 'x'").result).toBe('not_found');
  expect(queryFailure('error: Cannot recv data: Connection reset by peer').result).toBe('unavailable');
  expect(queryFailure('error: Timed out during operation: cannot acquire state change lock').result).toBe('busy');
  expect(startFailure("error: Domain not found: no domain with matching name 'x'").result).toBe('not_found');
  expect(startFailure('error: Failed to start domain x\nerror: internal error: process exited').result).toBe('failed');
  expect(removeFailure("error: Domain not found: no domain with matching name 'x'").result).toBe('ok');
  expect(removeFailure('error: Requested operation is not valid: domain is not running').result).toBe('ok');
  expect(removeFailure('error: cannot undefine domain with nvram')).toEqual({ result: 'retry_with', flag: '--nvram' });
  expect(removeFailure('error: cannot delete inactive domain with 1 snapshots')).toEqual({
    result: 'retry_with',
    flag: '--snapshots-metadata',
  });
});

test('node figures: missing output yields null', () => {
  expect(nodeInfo('')).toEqual({ cpus: null, memoryTotalMib: null });
  expect(nodeMemory('total  : 2048 KiB\nfree   : 1024 KiB\nbuffers: 512 KiB\ncached : 512 KiB\n')).toEqual({
    memoryTotalMib: 2,
    memoryAvailableMib: 2,
  });
  expect(nodeMemory('total : 2048 KiB\n')).toEqual({ memoryTotalMib: 2, memoryAvailableMib: null });
});

test('names may contain blanks', () => {
  expect(names('a\nmy vm\n\n')).toEqual(['a', 'my vm']);
});

test('domstats --balloon: only sandboxes with a figure, and no name that mimics a heading', () => {
  const [one, two] = ['sbx-0000000000000001', 'sbx-0000000000000002'];
  const balloon = '  balloon.current=1048576\n  balloon.maximum=1048576\n';
  const stats = `Domain: '${one}'\n${balloon}  balloon.rss=93184\n\nDomain: '${two}'\n${balloon}\nDomain: 'web'\n${balloon}  balloon.rss=7\n\n`;
  expect(residentSizes(stats)).toEqual(new Map([[one, 93_184]]));
  expect(residentSizes('')).toEqual(new Map());
});
