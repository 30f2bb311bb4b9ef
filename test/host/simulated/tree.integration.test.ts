import { chmod, chown, link, mkdir, symlink, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { copyTree, digestOfTree, firstNotFolder } from '../../../host/simulated/disk/tree.ts';
import { useFreshFolder } from '../../support/use-folder.ts';

const { signal } = new AbortController();
const folder = useFreshFolder();
let tree: string;

beforeEach(async () => {
  tree = join(folder, 'tree');
  await mkdir(join(tree, 'etc'), { recursive: true });
  await writeFile(join(tree, 'etc/b'), 'content');
  await writeFile(join(tree, 'etc/a'), 'other');
  await link(join(tree, 'etc/a'), join(tree, 'hard'));
  await symlink('etc/a', join(tree, 'soft'));
  await writeFile(Buffer.concat([Buffer.from(`${tree}/`), Buffer.from([0xff, 0x0a, 0x1b])]), 'named in bytes');
});

test('a copy has the same digest at any time', async () => {
  const before = await digestOfTree(tree, signal);
  await copyTree(tree, join(folder, 'copy'), signal);
  await utimes(join(folder, 'copy/etc/a'), 1, 1);
  expect(await digestOfTree(join(folder, 'copy'), signal)).toBe(before);
});

test.each<[string, () => Promise<void>]>([
  ['content', () => writeFile(join(tree, 'etc/b'), 'c0ntent')],
  ['mode', () => chmod(join(tree, 'etc/b'), 0o4755)],
  ['owner', () => chown(join(tree, 'etc/b'), 1000, 1000)],
  ['a name', () => writeFile(join(tree, 'etc/c'), '')],
  ['a missing name', () => unlink(join(tree, 'etc/b'))],
  ['an empty folder', () => mkdir(join(tree, 'empty'))],
  ["a link's target", () => unlink(join(tree, 'soft')).then(() => symlink('etc/b', join(tree, 'soft')))],
])('another %s has another digest', async (_what, change) => {
  const before = await digestOfTree(tree, signal);
  await change();
  expect(await digestOfTree(tree, signal)).not.toBe(before);
});

test('a missing tree, or an aborted read, has no digest', async () => {
  await expect(digestOfTree(join(folder, 'nothing'), signal)).rejects.toThrow('tar cannot read all of');
  await expect(digestOfTree(tree, AbortSignal.abort(new Error('cancelled')))).rejects.toThrow('cancelled');
});

test('finds the first path that is not a folder, parents included', async () => {
  expect(await firstNotFolder(tree, ['etc', 'etc/none', 'none'])).toBeNull();
  await symlink('/', join(tree, 'opt'));
  expect(await firstNotFolder(tree, ['etc', 'opt', 'opt/mayfly'])).toBe('opt');
  expect(await firstNotFolder(tree, ['etc/b'])).toBe('etc/b');
});
