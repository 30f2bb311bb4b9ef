import { expect, test } from 'vitest';
import { limitsCpus } from '../../../host/libvirt/client/cpu-limits.ts';
import { VirshError } from '../../../host/libvirt/client/virsh.ts';
import { child, childElements, type Element, parseXml, textOf } from '../../../host/libvirt/client/xml.ts';
import { cloneXml } from '../../../host/libvirt/domain-xml/clone-xml.ts';
import { wakingXml } from '../../../host/libvirt/domain-xml/waking-xml.ts';
import { GUEST_LIMITS } from '../../../model/limits.ts';

const SOURCE = `<domain type='kvm'><name>golden</name><memory>1</memory><vcpu>3</vcpu><devices>
  <disk type='file' device='disk'><source file='/a'/><target dev='vda' bus='virtio'/></disk>
  <disk type='file' device='disk'><source file='/b'/><target dev='vdb' bus='virtio'/></disk>
</devices></domain>`;

const clone = (xml: string, limits = false) =>
  cloneXml(xml, {
    name: 'sbx-0123456789abcdef',
    uuid: '11111111-2222-3333-4444-555555555555',
    rootOverlay: '/s/disk.qcow2',
    seed: '/s/seed.iso',
    cpus: null,
    memoryMib: null,
    network: 'mayfly',
    mac: () => '52:54:00:00:00:01',
    accelerator: null,
    limitsCpus: limits,
    bases: new Map(),
  });

const valuesOf = (node: Element | undefined) =>
  node && Object.fromEntries(childElements(node).map((each) => [each.name, textOf(each)]));

/** Returns the limits of each disk by its name. */
function limitsOf(xml: string): Record<string, unknown> {
  const devices = child(parseXml(xml), 'devices');
  const disks = devices ? childElements(devices, 'disk') : [];
  return Object.fromEntries(disks.map((d) => [child(d, 'target')?.attributes['dev'], valuesOf(child(d, 'iotune'))]));
}

const { disk } = GUEST_LIMITS;
const OURS = {
  total_bytes_sec: String(disk.bytesPerSecond),
  total_iops_sec: String(disk.operationsPerSecond),
  total_bytes_sec_max: String(disk.burstBytesPerSecond),
  total_iops_sec_max: String(disk.burstOperationsPerSecond),
  group_name: 'mayfly',
  total_bytes_sec_max_length: String(disk.burstSeconds),
  total_iops_sec_max_length: String(disk.burstSeconds),
};

test('all disks of a clone, including the seed, share one set of limits, also in a clone of a clone', () => {
  const all = { vda: OURS, vdb: OURS, sda: OURS };
  expect(limitsOf(clone(SOURCE))).toEqual(all);
  const older = clone(SOURCE).replaceAll(OURS.total_bytes_sec, '1');
  expect(limitsOf(clone(older))).toEqual(all);
});

test("a limit that the operator set on a source's disk is kept", () => {
  const own = "<iotune><write_iops_sec>7</write_iops_sec></iotune><target dev='vdb'";
  expect(limitsOf(clone(SOURCE.replace("<target dev='vdb'", own)))).toMatchObject({
    vda: OURS,
    vdb: { write_iops_sec: '7' },
  });
});

test("QEMU's work outside vCPUs is limited, and CPU shares follow the vCPUs, where libvirt supports it", () => {
  const tuned = (xml: string) => childElements(parseXml(xml), 'cputune').map(valuesOf);
  const limits = { shares: '300', emulator_period: '100000', emulator_quota: '100000' };
  expect(tuned(clone(SOURCE, true))).toEqual([limits]);
  expect(tuned(clone(clone(SOURCE, true), true))).toEqual([limits]);
  expect(tuned(clone(SOURCE.replace('>3<', '>512<'), true))).toEqual([{ ...limits, shares: '10000' }]);
  expect(tuned(clone(clone(SOURCE, true)))).toEqual([]);
});

test('a woken machine has its own limits, not the saved ones', () => {
  const [without, own] = [parseXml(SOURCE), parseXml(clone(SOURCE, true).replace(/<disk [^>]*cdrom.*?<\/disk>/s, ''))];
  for (const domain of [without, own]) {
    const devices = child(domain, 'devices');
    if (devices) devices.children = childElements(devices, 'disk');
  }
  const woken = wakingXml(SOURCE.replace('</devices>', '</devices><cputune><shares>1</shares></cputune>'), own);
  expect(limitsOf(woken)).toMatchObject({ vda: OURS, vdb: OURS });
  expect(childElements(parseXml(woken), 'cputune').map(valuesOf)).toMatchObject([{ shares: '300' }]);
  expect(
    childElements(
      parseXml(
        wakingXml(
          clone(SOURCE, true)
            .replace(/<disk [^>]*cdrom.*?<\/disk>/s, '')
            .replace(/<interface.*<\/interface>/s, ''),
          without,
        ),
      ),
      'cputune',
    ),
  ).toEqual([]);
});

test('a trial start shows whether libvirt limits CPUs; any other failure is an error', async () => {
  const said: string[] = [];
  const starts = (stderr: string | null) =>
    limitsCpus(
      {
        tryStart: async (xml) => {
          said.push(xml);
          if (stderr !== null) throw new VirshError('create', stderr, { result: 'error' } as never, null);
        },
      },
      'kvm',
    );
  expect(await starts(null)).toBe(true);
  expect(said[0]).toMatch(/^<domain type="kvm">.*<emulator_quota>/s);
  expect(await starts('error: unsupported configuration: cgroup cpu is required for scheduler tuning')).toBe(false);
  await expect(starts('error: internal error: no emulator')).rejects.toThrow(/no emulator/);
});
