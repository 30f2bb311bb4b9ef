import { appendFile, chmod, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BaseDigests } from '../../../../host/disk/base-digest.ts';
import { useFolder } from '../../../support/use-folder.ts';

const folder = useFolder();

test('a disk becomes read-only, its digest is cached, and a change is detected', async () => {
  const disk = join(folder, 'disk.qcow2');
  await writeFile(disk, 'hello');
  const digests = new BaseDigests(folder);
  const first = await digests.protect(disk);
  expect(first).toBe('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824');
  expect((await stat(disk)).mode & 0o777).toBe(0o440);
  expect(await new BaseDigests(folder).protect(disk)).toBe(first);
  await chmod(disk, 0o644);
  await appendFile(disk, '!');
  expect(await digests.protect(disk)).not.toBe(first);
  await expect(digests.protect(join(folder, 'gone'))).rejects.toMatchObject({ code: 'ENOENT' });
});

test('hashing of a large disk delays no other, and a removed disk is not cached', async () => {
  const [large, small] = [join(folder, 'large.qcow2'), join(folder, 'small.qcow2')];
  await writeFile(large, '');
  await truncate(large, 256 * 1_048_576);
  await writeFile(small, 'small');
  const digests = new BaseDigests(folder);
  const hashed = [digests.protect(large), digests.protect(large)];
  const first = await Promise.race([
    ...hashed.map((one) => one.then(() => large)),
    digests.protect(small).then(() => small),
  ]);
  expect(first).toBe(small);
  await rm(large);
  const [one, other] = await Promise.allSettled(hashed);
  expect(one).toMatchObject({ status: 'fulfilled', value: expect.stringMatching(/^[0-9a-f]{64}$/) });
  expect(other).toMatchObject({ status: 'rejected', reason: { code: 'ENOENT' } });
  const known: object = JSON.parse(await readFile(join(folder, 'digests.json'), 'utf8'));
  expect(Object.keys(known)).not.toContain(large);
});

test('an aborted caller stops reading a large disk, and the next one reads it', async () => {
  const digests = new BaseDigests(folder);
  const disk = join(folder, 'stopped.qcow2');
  await writeFile(disk, '');
  await truncate(disk, 64 * 1_048_576);
  const stop = new AbortController();
  const read = digests.protect(disk, { signal: stop.signal });
  stop.abort();
  await expect(read).rejects.toMatchObject({ name: 'AbortError' });
  expect(await digests.remembered(disk)).toBeNull();
  expect(await digests.protect(disk)).toMatch(/^[0-9a-f]{64}$/);
});
