import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, open, rm, stat, truncate } from 'node:fs/promises';
import { beforeEach, expect, it } from 'vitest';
import { parseXml } from '../../../host/libvirt/client/xml.ts';
import { LibvirtHypervisor } from '../../../host/libvirt/driver.ts';
import { SnapshotFolder } from '../../../host/libvirt/layers/snapshot-folder.ts';
import { useFreshState } from '../../support/use-folder.ts';
import { newId, newSnapshotId } from '../simulated/machine.ts';

const MEBIBYTE = 1024 * 1024;
const context = { signal: new AbortController().signal, alive: () => undefined };

const state = useFreshState();
let host: LibvirtHypervisor;
let folder: SnapshotFolder;

beforeEach(async () => {
  host = new LibvirtHypervisor({ uri: 'test:///default', state });
  folder = new SnapshotFolder(state, newSnapshotId());
  await folder.make();
  const layer = folder.layerOf('vda');
  execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', layer, '64M']);
  execFileSync('qemu-io', ['-f', 'qcow2', '-c', 'write -q -P 7 0 8M', layer]);
  await folder.writeDomain(
    parseXml(`<domain><devices><disk type='file' device='disk'><driver name='qemu' type='qcow2'/>
      <source file='${layer}'/><target dev='vda' bus='virtio'/></disk></devices></domain>`),
  );
  const savedAt = new Date().toISOString();
  const of = { sandboxId: newId(), kind: 'disk', quiesced: true, savedAt } as const;
  await folder.writeSpec({ ...of, bases: [], snapshots: [], saved: null, memorySha256: null });
  await host.snapshots.verify(folder.snapshotId, context);
});

const verified = () => host.snapshots.verify(folder.snapshotId, context);

async function overwrite(at: number, bytes: Uint8Array): Promise<void> {
  await chmod(folder.layerOf('vda'), 0o600);
  const file = await open(folder.layerOf('vda'), 'r+');
  await file.write(bytes, 0, bytes.length, at);
  await file.close();
}

it('an unchanged snapshot is valid', async () => {
  expect(await verified()).toMatchObject({ kind: 'disk', disks: [{ target: 'vda', virtualBytes: 64 * MEBIBYTE }] });
});

it.each([
  ['is damaged in its tables', () => overwrite(128 * 1024, randomBytes(256 * 1024))],
  [
    'has another byte of content',
    async () => overwrite((await stat(folder.layerOf('vda'))).size - 2, Buffer.of(0xa5, 0x5a)),
  ],
  ['has no header', () => overwrite(0, Buffer.alloc(512))],
  ['was cut', () => truncate(folder.layerOf('vda'), MEBIBYTE)],
  ['is gone', () => rm(folder.layerOf('vda'))],
])('a snapshot is refused when a layer %s', async (_what, harm) => {
  await harm();
  await expect(verified()).rejects.toMatchObject({ code: 'source_changed' });
});
