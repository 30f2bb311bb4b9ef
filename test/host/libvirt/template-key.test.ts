import { expect, test } from 'vitest';
import { buildXml } from '../../../host/libvirt/client/xml.ts';
import { buildHardware, takePrograms, templateKeyOf } from '../../../host/libvirt/template/template-key.ts';

const source = (name: string, folder: string, devices = '') => `<domain type='qemu'><name>${name}</name>
  <uuid>11111111-2222-3333-4444-555555555555</uuid><memory unit='MiB'>512</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type><kernel>${folder}/vmlinux</kernel></os><devices>
  <emulator>/usr/bin/qemu-system-x86_64</emulator>
  <disk type='file' device='disk'><source file='${folder}/disk.qcow2'/><target dev='vda' bus='virtio'/></disk>${devices}
</devices></domain>`;

const machine = { cpus: null, memoryMib: null, accelerator: 'tcg' as const, limitsCpus: false };

async function keyOf(sourceXml: string, { project = 'alpha', content = ['d'], ...wish } = {}): Promise<string | null> {
  const hardware = buildHardware({ ...machine, ...wish, sourceXml });
  if (!hardware) return null;
  takePrograms(hardware);
  return templateKeyOf(project, buildXml(hardware), content, 'libvirt 9');
}

test('the same machine with another name and folder has the same key; any other has another', async () => {
  const key = await keyOf(source('golden', '/a'));
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  expect(await keyOf(source('other', '/b'))).toBe(key);
  const others = await Promise.all([
    keyOf(source('golden', '/a'), { project: 'beta' }),
    keyOf(source('golden', '/a'), { content: ['e'] }),
    keyOf(source('golden', '/a').replace('q35-7.2', 'q35-7.1')),
    keyOf(source('golden', '/a').replace('>512<', '>1024<')),
    keyOf(source('golden', '/a').replace('<vcpu>1<', '<vcpu>2<')),
  ]);
  expect(new Set([key, ...others]).size).toBe(6);
});

test('the programs of a key are QEMU and the kernel', () => {
  const hardware = buildHardware({ ...machine, sourceXml: source('golden', '/a') });
  expect(hardware && takePrograms(hardware)).toEqual(['/usr/bin/qemu-system-x86_64', '/a/vmlinux']);
});

test.each(["<tpm model='tpm-crb'><backend type='emulator' version='2.0'/></tpm>", "<vsock model='virtio'/>"])(
  'a machine with %s boots',
  async (device) => {
    expect(await keyOf(source('golden', '/a', device))).toBeNull();
  },
);
