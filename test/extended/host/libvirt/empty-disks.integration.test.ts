import { randomBytes } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ensureOverlay } from '../../../../host/disk/overlay.ts';
import { buildXml, parseXml } from '../../../../host/libvirt/client/xml.ts';
import type { Layer } from '../../../../host/libvirt/domain-xml/clone-disks.ts';
import { layeredDisks, putLayers } from '../../../../host/libvirt/layers/disk-layers.ts';
import { emptyDisks } from '../../../../host/libvirt/layers/empty-disks.ts';
import { SnapshotFolder } from '../../../../host/libvirt/layers/snapshot-folder.ts';
import { Workspace } from '../../../../host/libvirt/layers/workspace.ts';
import { exec } from '../../../../host/os/exec.ts';
import { ID_BYTES, snapshotIdFrom } from '../../../../model/ids.ts';
import { newId } from '../../../host/simulated/machine.ts';
import { temporaryState } from '../../../host/temporary-state.ts';

let remove: () => Promise<void>;
let workspace: Workspace;
let snapshot: SnapshotFolder;

beforeEach(async () => {
  const temporary = await temporaryState();
  const { state } = temporary;
  ({ remove } = temporary);
  await mkdir(state.snapshots);
  workspace = new Workspace(state, newId());
  snapshot = new SnapshotFolder(state, snapshotIdFrom(randomBytes(ID_BYTES)));
  await workspace.make();
  await snapshot.make();
});
afterEach(async () => {
  await remove();
});

const io = (path: string, command: string) => exec('qemu-io', ['-f', 'qcow2', '-c', command, path]);
const signal = () => AbortSignal.timeout(120_000);

test('writes since the snapshot are dropped from disks that refer to it, and from no other', async () => {
  const domain = parseXml(
    `<domain><devices>${['vda', 'vdb'].map((dev) => `<disk device="disk"><source file="x"/><target dev="${dev}"/></disk>`).join('')}</devices></domain>`,
  );
  const own = { path: workspace.overlayOf('vdb', 'other'), format: 'qcow2' };
  const forks = { path: workspace.overlay, format: 'qcow2' };
  const frozen: Layer = { path: snapshot.layerOf('vda'), format: 'qcow2' };
  for (const path of [frozen.path, own.path]) await exec('qemu-img', ['create', '-q', '-f', 'qcow2', path, '16M']);
  await io(frozen.path, 'write -P 1 0 64k');
  await ensureOverlay(forks.path, frozen.path, frozen.format);
  for (const path of [forks.path, own.path]) await io(path, 'write -P 2 0 64k');
  putLayers(domain, 'vda', [forks, frozen]);
  putLayers(domain, 'vdb', [own]);
  const spec = {
    request: {
      sandboxId: workspace.sandboxId,
      source: 's',
      snapshotId: snapshot.snapshotId,
      cpus: null,
      memoryMib: null,
      egress: 'none' as const,
      userCaKeys: [],
    },
    clone: { hostKey: '', macAddress: '', user: '' },
    bases: [],
    snapshots: [snapshot.snapshotId],
    restoreId: null,
    wakesFrom: snapshot.snapshotId,
  };
  await workspace.finish(spec, buildXml(domain));
  const before = await readFile(frozen.path);

  for (let again = 0; again < 2; again++) await emptyDisks(workspace, snapshot, signal());
  expect((await io(forks.path, 'read -P 1 0 64k')).stdout).not.toMatch(/verification failed/i);
  expect((await io(own.path, 'read -P 2 0 64k')).stdout).not.toMatch(/verification failed/i);
  expect(await readFile(frozen.path)).toEqual(before);
  expect(layeredDisks(await workspace.domain())).toEqual(layeredDisks(domain));
});
