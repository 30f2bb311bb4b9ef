import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import { child, childElements, parseXml, textOf } from '../../../host/libvirt/client/xml.ts';
import { macAddresses, wakingXml } from '../../../host/libvirt/domain-xml/waking-xml.ts';
import { readSaveImage, rewriteSaveImage } from '../../../host/libvirt/memory/save-image.ts';
import { useFolder } from '../../support/use-folder.ts';

/** Start of an image saved by libvirt 9.0: header, text, padding, 32 bytes of QEMU's stream. */
let real: Buffer;
const folder = useFolder();
let path: string;

beforeAll(async () => {
  real = gunzipSync(await readFile(new URL('./save-image.gz', import.meta.url)));
  path = join(folder, 'image');
});

const own =
  parseXml(`<domain type='qemu'><name>sbx-0000000000000000</name><uuid>00000000-0000-5000-8000-000000000000</uuid>
<metadata><m:sandbox xmlns:m='urn:mayfly:sandbox:1' id='sbx-0000000000000000'/></metadata><memory>1</memory><devices>
<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='/own/disk.qcow2'/><target dev='vda' bus='virtio'/>
<backingStore type='file'><format type='qcow2'/><source file='/below'/><backingStore/></backingStore></disk>
<disk type='file' device='cdrom'><source file='/own/seed.iso'/><target dev='sda' bus='scsi'/></disk>
<interface type='network'><mac address='52:54:00:00:00:01'/><source network='mayfly-internet'/><target dev='mayfly-000001'/><port isolated='yes'/></interface>
</devices></domain>`);

test('a real image is parsed and gets another domain, with its stream in place', async () => {
  await writeFile(path, real);
  const { xml, streamBytes } = await readSaveImage(path);
  expect(streamBytes).toBe(32);
  await rewriteSaveImage(path, wakingXml(xml, own));
  const after = await readFile(path);
  expect(after.length).toBe(real.length);
  expect(after.subarray(-32)).toEqual(real.subarray(-32));
  expect(after.subarray(-32, -28).toString()).toBe('QEVM');
  const domain = parseXml((await readSaveImage(path)).xml);
  expect(textOf(child(domain, 'name'))).toBe('sbx-0000000000000000');
  const before = parseXml(xml);
  const cookie = (image: Buffer) => image.indexOf('<cookie>');
  expect([after.readUInt32LE(32) + 92, real.readUInt32LE(32) + 92]).toEqual([cookie(after), cookie(real)]);
  expect(JSON.stringify(domain)).not.toContain(textOf(child(before, 'name')));
  expect(JSON.stringify(domain)).not.toContain(textOf(child(before, 'uuid')));
});

test('a woken machine keeps its hardware, and gets the disks and networks of the other', async () => {
  await writeFile(path, real);
  const { xml } = await readSaveImage(path);
  const [before, domain] = [parseXml(xml), parseXml(wakingXml(xml, own))];
  const addresses = (root: typeof own) =>
    childElements(child(root, 'devices') ?? root).flatMap((device) => childElements(device, 'address'));
  expect(addresses(domain)).toEqual(addresses(before));
  expect(child(domain, 'memory')).toEqual(child(before, 'memory'));
  expect(macAddresses(domain)).toEqual(['52:54:00:00:00:01']);
  const [disk, seed] = childElements(child(domain, 'devices') ?? domain, 'disk');
  expect(disk && child(disk, 'source')?.attributes).toEqual({ file: '/own/disk.qcow2' });
  expect(JSON.stringify(disk)).toContain('/below');
  expect(seed && child(seed, 'source')?.attributes).toEqual({ file: '/own/seed.iso' });
  const [nic] = childElements(child(domain, 'devices') ?? domain, 'interface');
  expect(nic && child(nic, 'source')?.attributes).toEqual({ network: 'mayfly-internet' });
  expect(nic && child(nic, 'target')?.attributes).toEqual({ dev: 'mayfly-000001' });
});

test.each(['"vda"', '52:54:00:00:00:01'])('memory is not woken in a machine without %s', async (what) => {
  await writeFile(path, real);
  const { xml } = await readSaveImage(path);
  const other = structuredClone(own);
  const devices = child(other, 'devices') ?? other;
  devices.children = devices.children.filter((c) => typeof c === 'string' || !JSON.stringify(c).includes(what));
  expect(() => wakingXml(xml, other)).toThrow(TypeError);
});

test.each<[string, (image: Buffer) => Buffer]>([
  ['nothing', () => Buffer.alloc(0)],
  ['half a header', (image) => image.subarray(0, 50)],
  ['one that libvirt had not finished', (image) => put(image, 0, Buffer.from('LibvirtQemudPart'))],
  ['another version', (image) => put(image, 16, u32(3))],
  ['a compressed one', (image) => put(image, 28, u32(1))],
  ['4 GiB of text', (image) => put(image, 20, u32(0xff_ff_ff_ff))],
  ['more text than there is', (image) => put(image, 20, u32(4_000_000))],
  ['no text', (image) => put(image, 20, u32(0))],
  ['a cookie beyond its text', (image) => put(image, 32, u32(0xff_ff_ff_f0))],
  ['text without an end', (image) => put(image, 92, Buffer.alloc(70_196, 'x'))],
  ['no memory', (image) => image.subarray(0, -32)],
])('%s is not a save image', async (_, damage) => {
  await writeFile(path, damage(Buffer.from(real)));
  await expect(readSaveImage(path)).rejects.toThrow(TypeError);
});

test('a domain longer than its space changes nothing', async () => {
  await writeFile(path, real);
  await expect(rewriteSaveImage(path, 'x'.repeat(70_190))).rejects.toThrow(/room/);
  expect(await readFile(path)).toEqual(real);
});

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function put(image: Buffer, at: number, bytes: Buffer): Buffer {
  bytes.copy(image, at);
  return image;
}
