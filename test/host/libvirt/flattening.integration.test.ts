import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { BaseDigests } from '../../../host/disk/base-digest.ts';
import { QemuMonitor } from '../../../host/libvirt/client/qemu-monitor.ts';
import { Virsh } from '../../../host/libvirt/client/virsh.ts';
import { buildXml, parseXml } from '../../../host/libvirt/client/xml.ts';
import { putLayers } from '../../../host/libvirt/layers/disk-layers.ts';
import { References } from '../../../host/libvirt/layers/references.ts';
import { Workspace } from '../../../host/libvirt/layers/workspace.ts';
import { Flattening } from '../../../host/libvirt/live/flattening.ts';
import { ID_BYTES, snapshotIdFrom } from '../../../model/ids.ts';
import { newId } from '../simulated/machine.ts';
import { temporaryState } from '../temporary-state.ts';

test('a kill between writing domain.xml and spec.json is repaired in the spec while the machine is off', async () => {
  const { state, remove } = await temporaryState();
  onTestFinished(remove);
  await mkdir(state.snapshots);
  const virsh = new Virsh('test:///default'); // driver that simulates a host, without sandboxes
  const references = new References(state, new BaseDigests(state.images));
  const flattening = new Flattening({ state, virsh, monitor: new QemuMonitor(virsh), references });
  const workspace = new Workspace(state, newId());
  await workspace.make();
  await writeFile(workspace.overlay, '');
  const domain = parseXml(
    '<domain><devices><disk device="disk"><source file="x"/><target dev="vda"/></disk></devices></domain>',
  );
  const base = { path: join(state.root, 'golden.qcow2'), format: 'qcow2' };
  putLayers(domain, 'vda', [{ path: workspace.overlay, format: 'qcow2' }, base]);
  const { sandboxId } = workspace;
  const snapshots = [snapshotIdFrom(randomBytes(ID_BYTES)), snapshotIdFrom(randomBytes(ID_BYTES))];
  const layers = snapshots.map((id) => ({ path: join(state.snapshot(id), 'vda.qcow2'), sha256: 'a' }));
  const bases = [{ path: base.path, sha256: 'b' }, ...layers];
  const request = { sandboxId, source: 's', snapshotId: null, cpus: null, memoryMib: null, userCaKeys: [] };
  const clone = { hostKey: '', macAddress: '', user: '' };
  const spec = { request: { ...request, egress: 'none' as const }, clone, bases, snapshots, restoreId: null };
  await workspace.finish({ ...spec, wakesFrom: null }, buildXml(domain));
  await workspace.markPulling();

  await flattening.stop(sandboxId);
  expect(await workspace.spec()).toMatchObject({ snapshots: [], bases: [{ path: base.path, sha256: 'b' }] });
  expect(await workspace.isPulling()).toBe(false);
});
