import { expect, test } from 'vitest';
import { child, childElements, type Element, parseXml, textOf } from '../../../host/libvirt/client/xml.ts';
import { planDisks } from '../../../host/libvirt/domain-xml/clone-disks.ts';
import { type CloneParams, cloneXml, parseDomain } from '../../../host/libvirt/domain-xml/clone-xml.ts';
import { portName } from '../../../host/libvirt/network/ports.ts';
import { domainUuid, macAddress } from '../../../model/ids.ts';
import { HOSTILE_SOURCE, SHARED_TRACES } from './hostile-source.ts';

const ID = 'sbx-0123456789abcdef';
const PARAMS: CloneParams = {
  name: ID,
  uuid: domainUuid(ID),
  rootOverlay: '/s/a "b" & c/disk.qcow2',
  seed: '/s/seed.iso',
  cpus: 2,
  memoryMib: 1024,
  network: 'mayfly',
  mac: (nic) => macAddress(ID, nic),
  accelerator: 'tcg',
  limitsCpus: false,
  bases: new Map(),
};
const clone = (xml: string, params: Partial<CloneParams> = {}) => cloneXml(xml, { ...PARAMS, ...params });
const devices = (xml: string, name: string): Element[] => {
  const found = child(parseXml(xml), 'devices');
  return found ? childElements(found, name) : [];
};
const attribute = (node: Element, name: string, key: string) => child(node, name)?.attributes[key];

test('a clone shares nothing with a source that shares everything', () => {
  const xml = clone(HOSTILE_SOURCE);
  expect(SHARED_TRACES.filter((trace) => xml.includes(trace))).toEqual([]);
});

test('every disk gets its own overlay, the boot disk the given one', () => {
  const disks = devices(clone(HOSTILE_SOURCE), 'disk').filter((d) => d.attributes['device'] === 'disk');
  expect(
    disks.map((d) => [attribute(d, 'target', 'dev'), attribute(d, 'source', 'file'), attribute(d, 'driver', 'type')]),
  ).toEqual([
    ['sda', '/s/a "b" & c/disk-sda.qcow2', 'qcow2'],
    ['sdb', '/s/a "b" & c/disk.qcow2', 'qcow2'],
    ['vda', '/s/a "b" & c/disk-vda.qcow2', 'qcow2'],
  ]);
  expect(planDisks(parseDomain(HOSTILE_SOURCE), '/o.qcow2').map(({ base, format }) => [base, format])).toEqual([
    [{ path: '/img/boot disk.raw' }, 'raw'],
    [{ path: '/dev/vg0/data' }, 'raw'],
    [{ pool: 'default', volume: 'more.qcow2' }, 'qcow2'],
  ]);
});

test('the seed is the only CD, on its own virtio-scsi controller', () => {
  const xml = clone(HOSTILE_SOURCE);
  const cds = devices(xml, 'disk').filter((d) => d.attributes['device'] === 'cdrom');
  expect(cds.map((d) => [attribute(d, 'source', 'file'), attribute(d, 'target', 'bus')])).toEqual([
    ['/s/seed.iso', 'scsi'],
  ]);
  expect(cds.map((d) => attribute(d, 'target', 'dev'))).toEqual(['sdc']);
  expect(cds.map((d) => attribute(d, 'address', 'controller'))).toEqual(['1']);
});

test("every interface is on Mayfly's network with its own MAC, isolated from other guests", () => {
  const nics = devices(clone(HOSTILE_SOURCE), 'interface');
  expect(nics.map((n) => attribute(n, 'mac', 'address'))).toEqual([0, 1, 2].map((nic) => macAddress(ID, nic)));
  expect(nics.map((n) => attribute(n, 'target', 'dev'))).toEqual([0, 1, 2].map((nic) => portName(macAddress(ID, nic))));
  expect(
    new Set(
      nics.map((n) =>
        [n.attributes['type'], attribute(n, 'source', 'network'), attribute(n, 'port', 'isolated')].join(),
      ),
    ),
  ).toEqual(new Set(['network,mayfly,yes']));
});

test('cpus and memory follow the request, for any units and pins of the source', () => {
  const domain = parseXml(clone(HOSTILE_SOURCE));
  expect(textOf(child(domain, 'vcpu'))).toBe('2');
  expect(child(domain, 'vcpu')?.attributes).toEqual({ placement: 'static' });
  expect([textOf(child(domain, 'memory')), child(domain, 'memory')?.attributes['unit']]).toEqual(['1048576', 'KiB']);
  expect([textOf(child(domain, 'currentMemory')), child(domain, 'currentMemory')?.attributes['unit']]).toEqual([
    '1048576',
    'KiB',
  ]);
  const kept = parseXml(clone(HOSTILE_SOURCE, { cpus: null, memoryMib: null }));
  expect([textOf(child(kept, 'vcpu')), textOf(child(kept, 'memory'))]).toEqual(['4', '2']);
});

test("the source's other hardware is kept", () => {
  const xml = clone(HOSTILE_SOURCE);
  expect(devices(xml, 'watchdog')).toHaveLength(1);
  expect(devices(xml, 'rng')).toHaveLength(1);
  expect(xml).toContain('<serial>ROOT</serial>');
  expect(xml).toContain('/usr/share/OVMF/OVMF_VARS.fd');
  expect(xml).toContain('Acme');
});

test.each([
  ['<domain><devices/></domain>', /could not find a virtio disk/],
  ['<domain><name>x</name>', /could not be parsed/],
  ['<!DOCTYPE d [<!ENTITY a "b">]><domain/>', /could not be parsed/],
  ['<network/>', /root is not <domain>/],
  [disk("type='network'", "<source protocol='rbd' name='p/i'/>"), /needs a local file or block device/],
  [disk("type='file'", "<source file='/a'/><encryption format='luks'/>"), /encrypted/],
  [disk("type='file'", "<source file='/a'/>", '../x'), /target name/],
])('a source that cannot be cloned is refused with the reason: %s', (xml, reason) => {
  expect(() => clone(xml)).toThrow(reason);
});

function disk(attributes: string, inner: string, target = 'vda'): string {
  return `<domain><memory>1</memory><devices><disk ${attributes}>${inner}<target dev='${target}' bus='virtio'/></disk></devices></domain>`;
}

test('an emulated guest has a bounded cache of translated code; one under KVM has none', () => {
  const cacheOf = (xml: string) => {
    const features = child(parseXml(xml), 'features');
    const tcg = features && child(features, 'tcg');
    const cache = tcg && child(tcg, 'tb-cache');
    return cache && [cache.attributes['unit'], textOf(cache)];
  };
  const bounded = clone(HOSTILE_SOURCE);
  expect(cacheOf(bounded)).toEqual(['MiB', '128']);
  expect(cacheOf(clone(bounded))).toEqual(['MiB', '128']);
  expect(cacheOf(clone(bounded, { accelerator: 'kvm' }))).toBeUndefined();
});
