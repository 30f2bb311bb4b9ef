import { execFileSync, spawnSync } from 'node:child_process';
import { chmod, link, mkdir, mkdtemp, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { beforeEach, describe, expect, test } from 'vitest';
import { SimulatedHypervisor } from '../../../../host/simulated/driver.ts';
import { snapshotFolder } from '../../../../host/simulated/snapshots.ts';
import type { FileChange, FileChangeRecord, GuestName } from '../../../../model/files/file-change.ts';
import { asLogged } from '../../../host/compared/as-logged.ts';
import { copyOf, differences, type LoggedTree } from '../../../host/compared/logged-tree.ts';
import { RandomOperations, randomOf } from '../../../host/compared/random-operations.ts';
import { newId, newSnapshotId } from '../../../host/simulated/machine.ts';
import { sweep } from '../../../support/sweep.ts';
import { useFreshState } from '../../../support/use-folder.ts';

const state = useFreshState();
let host: SimulatedHypervisor;
/** Tree of the sandbox, which is saved. */
let tree: string;

beforeEach(async () => {
  host = new SimulatedHypervisor({ state });
  tree = join(state.root, 'tree');
  await mkdir(state.snapshots);
});

async function save(): Promise<string> {
  const snapshotId = newSnapshotId();
  await mkdir(state.snapshot(snapshotId));
  execFileSync('cp', ['--archive', '--', tree, join(state.snapshot(snapshotId), 'root')]);
  const savedAt = new Date().toISOString();
  const spec = { sandboxId: newId(), kind: 'disk', savedAt, sha256: null } as const;
  await snapshotFolder(state, snapshotId).write(state.snapshot(snapshotId), spec);
  return snapshotId;
}

const timeout = () => AbortSignal.timeout(120_000);

async function records(before: string, after: string, within: GuestName[] = []): Promise<FileChangeRecord[]> {
  const all: FileChangeRecord[] = [];
  for await (const one of host.snapshots.compare({ before, after, within }, timeout())) all.push(one);
  return all;
}

async function changes(before: string, after: string, within: GuestName[] = []): Promise<FileChange[]> {
  const all = await records(before, after, within);
  expect(all.at(-1)).toMatchObject({ line: 'end', renamed: 0 });
  return all.flatMap((record) => (record.line === 'change' ? [record] : []));
}

const briefs = (found: FileChange[]) =>
  found.map(({ change, path, what }) =>
    [change, path, ...what]
      .map((one) => JSON.stringify(one))
      .join(' ')
      .replaceAll('"', ''),
  );

/** Removes sockets, which an archive cannot contain. */
const withoutSockets = (logged: LoggedTree) => new Map([...logged].filter(([, { kind }]) => kind !== 'socket'));

describe('two saved trees', () => {
  sweep([1, 2, 3, 4])('differ by the log of random operations (seed %s)', async (seed) => {
    const operations = new RandomOperations(tree, randomOf(seed));
    const perform = (count: number) => execFileSync('perl', { input: operations.program(count) });
    perform(60);
    const before = await save();
    const then = withoutSockets(copyOf(operations.tree));
    perform(100);
    const after = await save();
    const now = withoutSockets(operations.tree);
    expect(asLogged(await changes(before, after), '')).toEqual(differences(then, now, false));
    expect(asLogged(await changes(after, before), '')).toEqual(differences(now, then, false));
    expect(await changes(after, after)).toEqual([]);
  });

  test('are compared in the requested paths only', async () => {
    await mkdir(join(tree, 'a/b'), { recursive: true });
    await writeFile(join(tree, 'a/b/c'), 'c');
    const before = await save();
    for (const path of ['a/b/c', 'a/new', 'other', 'a.b']) await writeFile(join(tree, path), 'new');
    const after = await save();
    const found = async (...within: GuestName[]) => briefs(await changes(before, after, within));
    expect(await found('/a/b')).toEqual(['changed /a/b/c content mtime']);
    expect(await found('/a/b/', '/a')).toEqual(['added /a/new', 'changed /a/b/c content mtime'].reverse());
    expect(await found('/other', { base64: Buffer.from('/a.b').toString('base64') })).toEqual([
      'added /a.b',
      'added /other',
    ]);
    expect(await found('/nothing', '/a/../other', '/a/b/c/d', '/a\0')).toEqual([]);
    expect(await found('/')).toHaveLength(4);
  });

  test("have Mayfly's own files in neither list nor archive", async () => {
    await mkdir(join(tree, 'etc/ssh'), { recursive: true });
    const before = await save();
    for (const folder of ['var/lib/mayfly/commands', 'opt']) await mkdir(join(tree, folder), { recursive: true });
    for (const path of ['var/lib/mayfly/commands/1', 'opt/mayfly', 'etc/ssh/mayfly_revoked', 'opt/mayfly2']) {
      await writeFile(join(tree, path), path);
    }
    const after = await save();
    const listed = ['added /opt', 'added /opt/mayfly2', 'added /var', 'added /var/lib'];
    expect(briefs(await changes(before, after))).toEqual(listed);
    expect((await records(before, after)).at(-1)).toMatchObject({ added: listed.length, changed: 0 });
    const archive = await buffer(host.snapshots.changesAsTar({ before, after, within: [] }, timeout()));
    const names = String(execFileSync('tar', ['-t'], { input: archive }))
      .trim()
      .split('\n');
    expect(names.map((name) => name.replace(/\/$/, ''))).toEqual(['./opt', './opt/mayfly2', './var', './var/lib']);
  });

  test('are never left through a link', async () => {
    await mkdir(tree);
    await symlink('/etc', join(tree, 'etc'));
    await symlink('/etc/passwd', join(tree, 'passwd'));
    const before = await save();
    await rm(join(tree, 'etc'));
    await symlink('/usr', join(tree, 'etc'));
    const after = await save();
    expect(briefs(await changes(before, after, ['/etc/passwd']))).toEqual([]);
    const found = (await changes(before, after)).find(({ path }) => path === '/etc');
    expect(found).toMatchObject({ change: 'changed', target: '/usr', what: ['target', 'mtime'] });
    const read = (path: string) => host.snapshots.readFile({ snapshotId: before, path, maxBytes: 10 }, timeout());
    await expect(read('/etc/passwd')).rejects.toMatchObject({ code: 'file_not_found' });
    await expect(read('/passwd')).rejects.toMatchObject({ code: 'file_conflict' });
    await expect(read('/../../../../../../../etc/passwd')).rejects.toMatchObject({ code: 'file_not_found' });
  });

  test('report a changed directory only for its attributes, not for its names', async () => {
    await mkdir(join(tree, 'd'), { recursive: true });
    const before = await save();
    await utimes(join(tree, 'd'), 1, 1.5);
    await chmod(tree, 0o700);
    const after = await save();
    expect(briefs(await changes(before, after))).toEqual(['changed / mode', 'changed /d mtime']);
    expect((await changes(before, after))[1]).toMatchObject({ mtime: '1970-01-01T00:00:01.5Z', size: null });
  });
});

test('a file is returned up to the requested bytes', async () => {
  await mkdir(tree);
  await writeFile(join(tree, '\u001b[31m\n'), 'some text');
  execFileSync('mkfifo', [join(tree, 'pipe')]);
  const snapshotId = await save();
  const read = (path: GuestName, maxBytes = 4) => host.snapshots.readFile({ snapshotId, path, maxBytes }, timeout());
  expect(await read('/\u001b[31m\n')).toEqual({ content: Buffer.from('some'), size: 9 });
  const base64 = Buffer.from('/\u001b[31m\n').toString('base64');
  expect(await read({ base64 }, 1_000)).toEqual({ content: Buffer.from('some text'), size: 9 });
  await expect(read('/pipe')).rejects.toMatchObject({ code: 'file_conflict' });
  await expect(read('/')).rejects.toMatchObject({ code: 'file_conflict' });
  await expect(read('/\u001b[31m')).rejects.toMatchObject({
    code: 'file_not_found',
    message: expect.not.stringContaining('\u001b'),
  });
});

test('the archive of changes, applied to the earlier tree, makes the later one', async () => {
  await mkdir(join(tree, 'gone/deep'), { recursive: true });
  for (const path of ['gone/deep/file', 'other', 'same', 'long']) await writeFile(join(tree, path), path);
  const before = await save();
  await rm(join(tree, 'gone'), { recursive: true });
  await rm(join(tree, 'other'));
  await writeFile(join(tree, 'new\n'), 'new');
  await link(join(tree, 'new\n'), join(tree, `linked-${'x'.repeat(200)}`));
  await writeFile(join(tree, 'long'), 'longer');
  const after = await save();
  const archive = async (from: string, to: string) =>
    await buffer(host.snapshots.changesAsTar({ before: from, after: to, within: [] }, timeout()));
  const listed = execFileSync('tar', ['-t', '--quoting-style=escape'], { input: await archive(before, after) });
  const expected = ['./.wh.gone', './long', `./linked-${'x'.repeat(200)}`, './new\\n', './.wh.other'];
  expect(String(listed).trim().split('\n').sort()).toEqual(expected.sort());
  const out = await mkdtemp(join(tmpdir(), 'mf-out-'));
  try {
    execFileSync('tar', ['-x', '-C', out], { input: await archive(before, after) });
    expect(String(execFileSync('stat', ['-c', '%h', join(out, 'new\n')])).trim()).toBe('2');
  } finally {
    await rm(out, { recursive: true });
  }
  expect(execFileSync('tar', ['-t'], { input: await archive(after, after) }).length).toBe(0);
  await writeFile(join(tree, '.wh.same'), '');
  await expect(archive(before, await save())).rejects.toMatchObject({ code: 'diff_failed' });
});

test('a missing snapshot and an aborted request are errors', async () => {
  await mkdir(tree);
  await writeFile(join(tree, 'endless'), '');
  await truncate(join(tree, 'endless'), 1e12);
  const snapshotId = await save();
  const absent = newSnapshotId();
  await expect(records(snapshotId, absent)).rejects.toMatchObject({ code: 'snapshot_not_found' });
  await expect(records(absent, snapshotId)).rejects.toMatchObject({ code: 'snapshot_not_found' });
  const gone = host.snapshots.readFile({ snapshotId: absent, path: '/x', maxBytes: 1 }, timeout());
  await expect(gone).rejects.toMatchObject({ code: 'snapshot_not_found' });
  const stop = new AbortController();
  const both = { before: snapshotId, after: snapshotId, within: [] };
  const first = host.snapshots.compare(both, stop.signal)[Symbol.asyncIterator]().next();
  const stopped = expect(first).rejects.toThrow('enough');
  const readers = () => spawnSync('pgrep', ['-P', String(process.pid), '-x', 'tar']).stdout.toString();
  await expect.poll(readers).not.toBe('');
  stop.abort(new Error('enough'));
  await stopped;
  expect(readers()).toBe('');
});
