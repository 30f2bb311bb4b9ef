import { appendFile, chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BaseDigests } from '../../../host/disk/base-digest.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mf-digest-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

test('a disk becomes read-only, its digest is remembered, and a change is seen', async () => {
  const disk = join(folder, 'disk.qcow2');
  await writeFile(disk, 'hello');
  const digests = new BaseDigests(folder);
  const first = await digests.protect(disk);
  expect(first).toBe('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824');
  expect((await stat(disk)).mode & 0o777).toBe(0o444);
  expect(await new BaseDigests(folder).protect(disk)).toBe(first);
  await chmod(disk, 0o644);
  await appendFile(disk, '!');
  expect(await digests.protect(disk)).not.toBe(first);
  await expect(digests.protect(join(folder, 'gone'))).rejects.toMatchObject({ code: 'ENOENT' });
});
