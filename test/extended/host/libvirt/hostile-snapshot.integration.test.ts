import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, copyFile, mkdir, open, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { parseXml } from '../../../../host/libvirt/client/xml.ts';
import { LibvirtHypervisor } from '../../../../host/libvirt/driver.ts';
import { SnapshotFolder } from '../../../../host/libvirt/layers/snapshot-folder.ts';
import type { StateDir } from '../../../../host/state-dir.ts';
import type { FileChangeRecord } from '../../../../model/files/file-change.ts';
import { diffBinary } from '../../../../worker/config/artifacts.mjs';
import { newId, newSnapshotId } from '../../../host/simulated/machine.ts';
import { temporaryState } from '../../../host/temporary-state.ts';

const MEBIBYTE = 1024 * 1024;
const MANY = 1_000_000;
/** Limits that docs/decisions/0009-snapshots.md promises. */
const GRANTED = { seconds: 120, memoryBytes: 1024 * MEBIBYTE };

let state: StateDir;
let remove: () => Promise<void>;
let host: LibvirtHypervisor;
let program: string;
/** Valid raw image, and a snapshot of it. */
let image: string;
let whole: string;

beforeAll(async () => {
  ({ state, remove } = await temporaryState());
  const built = diffBinary();
  if (built === null) throw new Error('mayfly-diff is not built: run `node scripts/setup.mjs --only diff`.');
  program = built;
  host = hostWith(program);
  image = join(state.root, 'image.raw');
  const tree = join(state.root, 'tree');
  await mkdir(join(tree, 'etc'), { recursive: true });
  for (const name of ['etc/hosts', 'etc/empty', 'small']) await writeFile(join(tree, name), name);
  await writeFile(image, '');
  await truncate(image, 64 * MEBIBYTE);
  const options = ['-q', '-F', '-t', 'ext4', '-b', '4096', '-O', '^metadata_csum', '-d', tree];
  execFileSync('/sbin/mke2fs', [...options, image]);
  whole = await snapshotOf(image);
});
afterAll(() => remove());
afterEach(() => {
  vi.useRealTimers();
});

/** Creates a host whose comparisons need no libvirt. */
function hostWith(diffProgram: string): LibvirtHypervisor {
  return new LibvirtHypervisor({ uri: 'test:///default', state, diffProgram });
}

/** Writes a snapshot as a save leaves it, whose layer contains a raw image. */
async function snapshotOf(raw: string): Promise<string> {
  const folder = new SnapshotFolder(state, newSnapshotId());
  await folder.make();
  const layer = folder.layerOf('vda');
  execFileSync('qemu-img', ['convert', '-f', 'raw', '-O', 'qcow2', raw, layer]);
  await chmod(layer, 0o444);
  await folder.writeDomain(
    parseXml(`<domain><devices><disk type='file' device='disk'><driver name='qemu' type='qcow2'/>
      <source file='${layer}'/><target dev='vda' bus='virtio'/></disk></devices></domain>`),
  );
  const savedAt = new Date().toISOString();
  const sha256 = createHash('sha256')
    .update(await readFile(layer))
    .digest('hex');
  const disks = [{ target: 'vda', sha256, virtualBytes: (await stat(raw)).size, storedBytes: 0 }];
  const saved = { kind: 'disk' as const, disks, memoryBytes: null, sizeBytes: 0, quiesced: true, savedAt };
  const of = {
    sandboxId: newId(),
    kind: 'disk' as const,
    quiesced: true,
    savedAt,
    bases: [],
    snapshots: [],
    memorySha256: null,
  };
  await folder.writeSpec({ ...of, saved });
  return folder.snapshotId;
}

async function changed(name: string, commands: string[]): Promise<string> {
  const path = join(state.root, name);
  await copyFile(image, path);
  const { stderr } = spawnSync('/sbin/debugfs', ['-w', '-f', '-', path], { input: `${commands.join('\n')}\n` });
  expect(stderr.toString().replace(/^debugfs .*\n/, '')).toBe('');
  return path;
}

async function compared(after: string, within: string[] = [], by = host): Promise<FileChangeRecord[]> {
  const records: FileChangeRecord[] = [];
  const signal = AbortSignal.timeout(300_000);
  for await (const one of by.snapshots.compare({ before: whole, after, within }, signal)) records.push(one);
  return records;
}

/** Makes a directory with one file under a million names: a file with such blocks, marked as a directory. */
async function crowded(): Promise<string> {
  const perBlock = 100;
  const told = String(execFileSync('/sbin/debugfs', ['-R', 'stat /etc/hosts', image], { stdio: 'pipe' }));
  const inode = Number(/^Inode: (\d+)/.exec(told)?.[1]);
  const blocks = Buffer.alloc((MANY / perBlock) * 4096);
  for (let n = 0; n < MANY; n += 1) {
    const at = Math.floor(n / perBlock) * 4096 + (n % perBlock) * 24;
    blocks.writeUInt32LE(inode, at);
    blocks.writeUInt16LE(n % perBlock === perBlock - 1 ? 4096 - (perBlock - 1) * 24 : 24, at + 4);
    blocks.writeUInt8(12, at + 6);
    blocks.write(`file-${String(n).padStart(7, '0')}`, at + 8);
  }
  const content = join(state.root, 'blocks');
  await writeFile(content, blocks);
  return await changed('crowded.raw', ['rm /small', `write ${content} /small`, 'sif /small mode 040755']);
}

const runs = () =>
  spawnSync('pgrep', ['-P', String(process.pid), '-x', 'mayfly-diff'])
    .stdout.toString()
    .trim();

test('a broken superblock is an error with snapshot and reason', async () => {
  const path = await changed('broken.raw', []);
  const file = await open(path, 'r+');
  await file.write(Buffer.alloc(4, 0xff), 0, 4, 1024 + 0x18); // the size of blocks
  await file.close();
  const broken = await snapshotOf(path);
  const failure = { code: 'diff_failed', message: expect.stringContaining(`The file system of ${broken}: `) };
  await expect(compared(broken)).rejects.toMatchObject(failure);
  const read = host.snapshots.readFile(
    { snapshotId: broken, path: '/small', maxBytes: 9 },
    AbortSignal.timeout(120_000),
  );
  await expect(read).rejects.toMatchObject(failure);
  const archive = host.snapshots.changesAsTar(
    { before: broken, after: whole, within: [] },
    AbortSignal.timeout(120_000),
  );
  await expect(buffer(archive)).rejects.toMatchObject(failure);
});

test('a loop of directories is an error that names them in printable characters', async () => {
  const loop = ['mkdir /etc/deep', 'ln /etc "/etc/deep/\u001b[31mup"'];
  const failed = compared(await snapshotOf(await changed('loop.raw', loop)));
  await expect(failed).rejects.toMatchObject({ code: 'diff_failed', message: expect.stringContaining('\\x1b[31mup') });
});

test('a sparse file of 16 TiB is reported without being read', async () => {
  const path = await changed('huge.raw', ['sif /etc/empty size 0x100000000000']);
  const [change, end] = await compared(await snapshotOf(path));
  expect(change).toMatchObject({ change: 'changed', path: '/etc/empty', size: 2 ** 44, digest: null });
  expect(end).toMatchObject({ line: 'end', changed: 1 });
});

test('a file is read by its path, links are not followed, and other types are refused', async () => {
  const snapshotId = await snapshotOf(await changed('links.raw', ['symlink /link /etc/hosts', 'symlink /up ../etc']));
  const read = (path: string) =>
    host.snapshots.readFile({ snapshotId, path, maxBytes: 4 }, AbortSignal.timeout(120_000));
  expect(await read('/etc/hosts')).toEqual({ content: Buffer.from('etc/'), size: 9 });
  await expect(read('/link')).rejects.toMatchObject({ code: 'file_conflict' });
  await expect(read('/up/hosts')).rejects.toMatchObject({ code: 'file_not_found' });
  await expect(read('/etc/../etc/hosts')).rejects.toMatchObject({ code: 'file_not_found' });
});

test('a million names in a directory are reported, by a confined program', async () => {
  const many = await snapshotOf(await crowded());
  const began = performance.now();
  let told = 0;
  const signal = AbortSignal.timeout(300_000);
  for await (const record of host.snapshots.compare({ before: whole, after: many, within: [] }, signal)) {
    told += 1;
    if (told === 1) await expectBounds(runs());
    if (told === 1) expect(await host.snapshots.remove(many)).toMatchObject({ keptFor: expect.any(String) });
    if (told === 20_000) break; // Go's tests read them to the end
    if (record.line !== 'change') throw new Error('it ended');
  }
  process.stderr.write(`${told} of ${MANY} lines after ${(performance.now() - began).toFixed(0)} ms\n`);
  expect(runs()).toBe('');
  expect((await host.snapshots.list()).map(({ snapshotId }) => snapshotId)).not.toContain(many);
});

async function expectBounds(pid: string): Promise<void> {
  const [limits, status] = await Promise.all(
    ['limits', 'status'].map(async (file) => await readFile(join('/proc', pid, file), 'utf8')),
  );
  expect(limits).toMatch(new RegExp(`Max data size +${GRANTED.memoryBytes} `));
  expect(limits).toMatch(/Max cpu time +600 /);
  expect(status).toMatch(/Uid:\t65533\t65533/);
  expect(status).toMatch(/NoNewPrivs:\t1\n/);
  expect(status).toMatch(/Seccomp:\t2\n/);
  const peakKib = Number(/VmHWM:\s+(\d+) kB/.exec(status ?? '')?.[1]);
  expect(peakKib * 1024).toBeLessThan(GRANTED.memoryBytes);
}

test('a program that exceeds its time is killed', async () => {
  const stuck = join(state.root, 'stuck');
  await writeFile(stuck, '#!/bin/sh\ncat >"$0.asked"\nexec sleep 1000\n', { mode: 0o755 });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const failed = compared(whole, [], hostWith(stuck));
  const failure = expect(failed).rejects.toMatchObject({ code: 'diff_failed' });
  await expect.poll(() => readFile(`${stuck}.asked`, 'utf8').catch(() => '')).toMatch(/\}$/);
  expect(JSON.parse(await readFile(`${stuck}.asked`, 'utf8'))).toMatchObject({ seconds: GRANTED.seconds });
  await vi.advanceTimersByTimeAsync((GRANTED.seconds + 10) * 1_000);
  await failure;
});

test('an aborted request ends with the reason of the abort', async () => {
  const signal = AbortSignal.abort(new Error('enough'));
  const both = { before: whole, after: whole, within: [] };
  await expect(host.snapshots.compare(both, signal)[Symbol.asyncIterator]().next()).rejects.toThrow('enough');
  await expect(buffer(host.snapshots.changesAsTar(both, signal))).rejects.toThrow('enough');
  const read = host.snapshots.readFile({ snapshotId: whole, path: '/small', maxBytes: 1 }, signal);
  await expect(read).rejects.toThrow('enough');
});

test('a host without the program reports it', async () => {
  const bare = new LibvirtHypervisor({ uri: 'test:///default', state });
  await expect(compared(whole, [], bare)).rejects.toMatchObject({ code: 'diff_failed' });
  await expect(compared(newSnapshotId())).rejects.toMatchObject({ code: 'snapshot_not_found' });
});
