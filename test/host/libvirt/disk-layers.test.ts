import { expect, test } from 'vitest';
import { buildXml, parseXml } from '../../../host/libvirt/client/xml.ts';
import { cloneXml } from '../../../host/libvirt/domain-xml/clone-xml.ts';
import { driveTargets, layeredDisks, putLayers } from '../../../host/libvirt/layers/disk-layers.ts';
import { HOSTILE_SOURCE } from './hostile-source.ts';

const raw = { path: '/img/boot disk.raw', format: 'raw' };
const golden = { path: `/img/"a" & <b>, 'c'.qcow2`, format: 'qcow2' };

const clone = (source: string) =>
  parseXml(
    cloneXml(source, {
      name: 'sbx-0123456789abcdef',
      uuid: '00000000-0000-5000-8000-000000000000',
      rootOverlay: '/s/disk.qcow2',
      seed: '/s/seed.iso',
      cpus: null,
      memoryMib: null,
      network: 'mayfly',
      mac: () => '52:54:00:00:00:00',
      accelerator: 'tcg',
      limitsCpus: false,
      bases: new Map([
        ['sda', [raw]],
        ['sdb', [golden, raw]],
        ['vda', [golden]],
      ]),
    }),
  );

test('a clone lists the layers of each disk, and none of its seed', () => {
  const domain = clone(HOSTILE_SOURCE);
  expect(layeredDisks(domain)).toEqual([
    { target: 'sda', writable: true, layers: [{ path: '/s/disk-sda.qcow2', format: 'qcow2' }, raw] },
    { target: 'sdb', writable: true, layers: [{ path: '/s/disk.qcow2', format: 'qcow2' }, golden, raw] },
    { target: 'vda', writable: true, layers: [{ path: '/s/disk-vda.qcow2', format: 'qcow2' }, golden] },
  ]);
  expect(driveTargets(domain)).toEqual(expect.arrayContaining(['sda', 'sdb', 'vda', 'sdc']));
});

test('a disk can get other layers, with any names, and the other disks keep theirs', () => {
  const domain = clone(HOSTILE_SOURCE);
  const [first, ...others] = layeredDisks(domain);
  const layers = [{ path: '/n/new, "one".qcow2', format: 'qcow2' }, golden, raw] as const;
  putLayers(domain, 'sda', [...layers]);
  expect(layeredDisks(parseXml(buildXml(domain)))).toEqual([{ ...first, layers }, ...others]);
  expect(buildXml(domain)).not.toContain('/s/disk-sda.qcow2');
  expect(buildXml(domain).match(/relabel="no"/g)).toHaveLength(5);
});

test('layers survive a clone of a clone', () => {
  const domain = clone(HOSTILE_SOURCE);
  const again = clone(buildXml(domain));
  expect(layeredDisks(again)).toEqual(layeredDisks(domain));
  expect(driveTargets(again)).toEqual(driveTargets(domain));
});

test('a read-only data disk stays read-only, and is not written', () => {
  const readOnly = HOSTILE_SOURCE.replace("<target dev='vda'", "<readonly/><target dev='vda'");
  const disks = layeredDisks(clone(readOnly));
  expect(disks.map(({ target, writable }) => [target, writable])).toEqual([
    ['sda', true],
    ['sdb', true],
    ['vda', false],
  ]);
});

test('an unknown disk is an error', () => {
  expect(() => putLayers(clone(HOSTILE_SOURCE), 'vdz', [raw])).toThrow(/"vdz"/);
});
