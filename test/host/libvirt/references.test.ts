import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { BaseDigests } from '../../../host/disk/base-digest.ts';
import { parseXml } from '../../../host/libvirt/client/xml.ts';
import { CaptureFolder } from '../../../host/libvirt/layers/capture-folder.ts';
import { measureRetainedBytes } from '../../../host/libvirt/layers/held-layers.ts';
import { References } from '../../../host/libvirt/layers/references.ts';
import { SnapshotFolder, snapshotFolders } from '../../../host/libvirt/layers/snapshot-folder.ts';
import { Workspace } from '../../../host/libvirt/layers/workspace.ts';
import { SnapshotReader } from '../../../host/libvirt/snapshot/comparing.ts';
import { captureIdFrom, ID_BYTES, snapshotIdFrom } from '../../../model/ids.ts';
import { useFreshState } from '../../support/use-folder.ts';
import { newId } from '../simulated/machine.ts';

const state = useFreshState();
let digests: BaseDigests;
let references: References;

beforeEach(async () => {
  await mkdir(state.snapshots);
  digests = new BaseDigests(state.images);
  references = new References(state, digests);
});

const newSnapshotId = () => snapshotIdFrom(randomBytes(ID_BYTES));
const present = async () => (await snapshotFolders(state)).map(({ snapshotId }) => snapshotId).sort();

/** Makes a saved and checked snapshot, with one frozen layer. */
async function snapshot(...below: string[]): Promise<SnapshotFolder> {
  return snapshotOf(newId(), ...below);
}

async function snapshotOf(sandboxId: string, ...below: string[]): Promise<SnapshotFolder> {
  const folder = new SnapshotFolder(state, newSnapshotId());
  await folder.make();
  await writeFile(folder.layerOf('vda'), folder.snapshotId);
  const sha256 = (await digests.protect(folder.layerOf('vda'))) ?? '';
  await folder.writeDomain(parseXml('<domain/>'));
  const [kind, quiesced, savedAt] = ['disk' as const, true, new Date().toISOString()];
  const disks = [{ target: 'vda', sha256, virtualBytes: 1, storedBytes: 1 }];
  const saved = { kind, disks, memoryBytes: null, sizeBytes: 1, quiesced, savedAt };
  await folder.writeSpec({
    sandboxId,
    kind,
    quiesced,
    savedAt,
    bases: [],
    snapshots: below,
    saved,
    memorySha256: null,
  });
  return folder;
}

async function sandbox(...snapshots: string[]): Promise<Workspace> {
  return sandboxNamed(newId(), ...snapshots);
}

async function sandboxNamed(id: string, ...snapshots: string[]): Promise<Workspace> {
  const workspace = new Workspace(state, id);
  await workspace.make();
  const { sandboxId } = workspace;
  const request = { sandboxId, source: 's', snapshotId: null, cpus: null, memoryMib: null, userCaKeys: [] };
  const clone = { hostKey: '', macAddress: '', user: '' };
  const spec = {
    request: { ...request, egress: 'none' as const },
    clone,
    bases: [],
    snapshots,
    restoreId: null,
    wakesFrom: null,
  };
  await workspace.finish(spec, '<domain/>');
  return workspace;
}

async function deleted(folder: SnapshotFolder): Promise<string | null> {
  await folder.markRemoved();
  await references.sweep();
  return await references.referrers(folder.snapshotId);
}

test('a deleted snapshot stays while a sandbox or snapshot refers to it, and is removed with the last of them', async () => {
  const first = await snapshot();
  const second = await snapshot(first.snapshotId);
  const user = await sandbox(second.snapshotId, first.snapshotId);
  expect(await deleted(first)).toBe(`sandbox ${user.sandboxId}, snapshot ${second.snapshotId}`);
  expect(await deleted(second)).toBe(`sandbox ${user.sandboxId}`);
  expect(await present()).toEqual([first.snapshotId, second.snapshotId].sort());
  await rm(user.folder, { recursive: true });
  await references.sweep();
  expect(await present()).toEqual([]);
  expect(await readFile(join(state.images, 'digests.json'), 'utf8')).toBe('{}\n');
});

test('snapshots that are not deleted stay, referenced or not', async () => {
  const kept = await snapshot();
  const other = await snapshot();
  expect(await deleted(other)).toBeNull();
  expect(await present()).toEqual([kept.snapshotId]);
});

test('a deleted snapshot stays while a sandbox is made of it, but cannot be used for another', async () => {
  const folder = await snapshot();
  await references.on(folder.snapshotId, async ({ bases }) => {
    expect(bases.map(({ path }) => path)).toEqual([folder.layerOf('vda')]);
    expect(await deleted(folder)).toMatch(/being made/);
    await expect(references.on(folder.snapshotId, async () => {})).rejects.toMatchObject({
      code: 'snapshot_not_found',
    });
  });
  await references.sweep();
  expect(await present()).toEqual([]);
});

test('a snapshot deleted while its file is read is removed after the read', async () => {
  const folder = await snapshot();
  const protect = digests.protect.bind(digests);
  vi.spyOn(digests, 'protect').mockImplementationOnce(async (...file) => {
    expect(await deleted(folder)).toMatch(/compared/);
    return protect(...file);
  });
  const request = { snapshotId: folder.snapshotId, path: '/etc/hostname', maxBytes: 1 };
  const read = new SnapshotReader(references, null).readFile(request, AbortSignal.timeout(120_000));
  await expect(read).rejects.toMatchObject({ code: 'diff_failed' });
  expect(await present()).toEqual([]);
});

test('the remains of a deleted snapshot count once: for its sandbox, for a fork that refers to it, or for none', async () => {
  const [a, b] = [newId(), newId()];
  const [first, kept] = [await snapshotOf(a), await snapshotOf(a)];
  await writeFile(first.memory, Buffer.alloc(65_536, 'memory'));
  const own = await sandboxNamed(a, kept.snapshotId, first.snapshotId);
  const fork = await sandboxNamed(b, first.snapshotId);
  expect(await measureRetainedBytes(state)).toEqual(new Map());
  await deleted(first);
  const held = await measureRetainedBytes(state);
  expect([...held.keys()]).toEqual([a]);
  expect(held.get(a)).toBeGreaterThanOrEqual(65_536 + 4_096);

  await sandboxNamed(a, kept.snapshotId); // as after a restore
  expect([...(await measureRetainedBytes(state)).keys()]).toEqual([b]);
  const above = await snapshotOf(a, first.snapshotId);
  await rm(fork.folder, { recursive: true });
  expect([...(await measureRetainedBytes(state)).keys()]).toEqual([a]);
  await writeFile(join(own.folder, 'spec.json'), '{"request"');
  expect([...(await measureRetainedBytes(state)).keys()]).toEqual([a]);
  await rm(own.folder, { recursive: true });
  expect(await measureRetainedBytes(state)).toEqual(new Map());
  await deleted(above);
  expect(await present()).toEqual([kept.snapshotId]);
});

test('an unchecked snapshot, or one changed since its check, cannot be used', async () => {
  const half = new SnapshotFolder(state, newSnapshotId());
  await half.make();
  await expect(references.on(half.snapshotId, async () => {})).rejects.toMatchObject({ code: 'snapshot_not_ready' });
  await expect(references.on(newSnapshotId(), async () => {})).rejects.toMatchObject({ code: 'snapshot_not_found' });
  const below = await snapshot();
  const top = await snapshot(below.snapshotId);
  await writeFile(below.layerOf('vda'), 'something else');
  await expect(references.on(top.snapshotId, async () => {})).rejects.toMatchObject({ code: 'source_changed' });
});

test('an unreadable workspace counts as referring to everything', async () => {
  const folder = await snapshot();
  const broken = await sandbox();
  await writeFile(join(broken.folder, 'spec.json'), '{"request"');
  expect(await deleted(folder)).toBe(`sandbox ${broken.sandboxId}`);
  await rm(broken.folder, { recursive: true });
  await references.sweep();
  expect(await present()).toEqual([]);
});

test('a snapshot whose removal was interrupted by a crash is swept', async () => {
  await mkdir(join(state.snapshots, `${newSnapshotId()}.gone`));
  await references.sweep();
  expect(await snapshotFolders(state)).toEqual([]);
});

test("a sandbox that boots from a source's kernel refers to it, even with its own disks", async () => {
  const source = join(state.images, 'baked', 'tools');
  const boots = (folder: string) => `<domain><os><kernel>${folder}/kernel</kernel></os></domain>`;
  expect(await references.onFiles(source)).toBeNull();
  const user = await sandbox();
  await writeFile(user.domainXml, boots(source));
  const saved = await snapshot();
  await saved.writeDomain(parseXml(boots(source)));
  const making = new CaptureFolder(state, captureIdFrom(Buffer.alloc(ID_BYTES, 1)));
  await making.make(boots(source));
  const whole = new CaptureFolder(state, captureIdFrom(Buffer.alloc(ID_BYTES, 2)));
  await mkdir(whole.path);
  await writeFile(join(whole.path, 'domain.xml'), boots(source));
  await writeFile((await sandbox()).domainXml, boots(`${source}-2`));
  await new Workspace(state, newId()).make();
  const captures = [making, whole].map(({ captureId }) => `capture ${captureId}`).sort();
  expect((await references.onFiles(source))?.split(', ')).toEqual([
    `sandbox ${user.sandboxId}`,
    `snapshot ${saved.snapshotId}`,
    ...captures,
  ]);
});
