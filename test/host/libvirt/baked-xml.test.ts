import { expect, test } from 'vitest';
import { bakedXml, bootFiles } from '../../../host/libvirt/domain-xml/baked-xml.ts';
import { parseDomain } from '../../../host/libvirt/domain-xml/clone-xml.ts';

const BUILDER = `<domain type='kvm' id='7'>
  <name>sbx-0123456789abcdef</name>
  <uuid>11111111-2222-3333-4444-555555555555</uuid>
  <metadata><mayfly:sandbox xmlns:mayfly='urn:mayfly:sandbox:1' id='sbx-0123456789abcdef'/></metadata>
  <memory unit='MiB'>512</memory>
  <vcpu>2</vcpu>
  <os><type>hvm</type><kernel>/images/a/vmlinux</kernel><initrd>/images/a/initrd</initrd><cmdline>root=/dev/vda</cmdline></os>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='qcow2' cache='unsafe'/><source file='/sandboxes/sbx/disk.qcow2'/>
      <backingStore type='file'><format type='qcow2'/><source file='/snapshots/snp/vda.qcow2'/></backingStore>
      <target dev='vda' bus='virtio'/>
    </disk>
    <disk type='file' device='disk'>
      <driver name='qemu' type='qcow2'/><source file='/sandboxes/sbx/disk-vdb.qcow2'/>
      <target dev='vdb' bus='virtio'/><readonly/>
    </disk>
    <disk type='file' device='cdrom'><source file='/sandboxes/sbx/seed.iso'/><target dev='sda' bus='scsi'/></disk>
    <interface type='network'>
      <mac address='52:54:00:01:02:03'/><source network='mayfly'/><model type='virtio'/><port isolated='yes'/>
    </interface>
  </devices>
</domain>`;

test("a baked source has the builder's hardware, and nothing of its identity", () => {
  const request = {
    bakeId: 'opn-0000000000000000',
    sourceId: 'src-0000000000000000',
    name: 'a<&b',
    snapshotId: 'snp-0000000000000000',
    builderId: 'sbx-0123456789abcdef',
  };
  const files = bootFiles(parseDomain(BUILDER));
  expect(files).toEqual([
    { name: 'kernel', path: '/images/a/vmlinux' },
    { name: 'initrd', path: '/images/a/initrd' },
  ]);
  const xml = bakedXml(BUILDER, request, {
    uuid: '99999999-2222-3333-4444-555555555555',
    rootDisk: '/baked/x/disk.qcow2',
    boot: new Map(files.map(({ name }) => [name, `/baked/x/${name}`])),
  });
  for (const gone of ['sbx', 'cdrom', 'backingStore', '/images/a', '52:54:00:01:02:03', '11111111', "id='7'"]) {
    expect(xml).not.toContain(gone);
  }
  const kept = [
    '<name>a&lt;&amp;b</name>',
    '<uuid>99999999-',
    '<vcpu>2</vcpu>',
    '>512</memory>',
    'root=/dev/vda',
    'file="/baked/x/disk.qcow2"',
    'file="/baked/x/disk-vdb.qcow2"',
    '<kernel>/baked/x/kernel</kernel>',
    'bake="opn-0000000000000000"',
    'network="mayfly"',
    'isolated="yes"',
  ];
  for (const part of kept) expect(xml).toContain(part);
});
