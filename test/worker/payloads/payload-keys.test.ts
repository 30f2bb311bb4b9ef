import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { payloadKeys } from '../../../worker/payloads/payload-keys.ts';
import { useFreshFolder } from '../../support/use-folder.ts';

const folder = useFreshFolder();

test('the key is created once, also concurrently, and is private', async () => {
  const path = join(folder, 'control', 'payload.key');
  const made = await Promise.all(Array.from({ length: 8 }, () => payloadKeys(path, true)));
  expect(new Set(made.map(([{ id }]) => id)).size).toBe(1);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await stat(join(folder, 'control'))).mode & 0o777).toBe(0o700);
  expect(await readdir(join(folder, 'control'))).toEqual(['payload.key']);
  expect((await readFile(path, 'utf8')).trim()).toMatch(/^[0-9a-f]{64}$/);
});

test('a process that must not create it reports the missing path', async () => {
  const path = join(folder, 'payload.key');
  await expect(payloadKeys(path)).rejects.toMatchObject({
    code: 'payload_key_unusable',
    message: expect.stringContaining(path),
  });
});

test.each([0o640, 0o604, 0o644])('a key readable by others is refused: mode %o', async (mode) => {
  const path = join(folder, 'payload.key');
  await payloadKeys(path, true);
  await chmod(path, mode);
  await expect(payloadKeys(path)).rejects.toMatchObject({
    code: 'payload_key_unusable',
    message: expect.stringContaining('others'),
  });
});

test('several keys: one per line, the first one first', async () => {
  const path = join(folder, 'payload.key');
  await writeFile(path, `# new\n${'ab'.repeat(32)}\n\n${'cd'.repeat(32)}\n`, { mode: 0o600 });
  const keys = await payloadKeys(path);
  expect(keys.map(({ key }) => Buffer.from(key).toString('hex').slice(0, 2))).toEqual(['ab', 'cd']);
});

test.each(['', 'xyz', 'ab'.repeat(31), `${'ab'.repeat(32)}\nhunter2`])(
  'an invalid key is refused: %j',
  async (text) => {
    const path = join(folder, 'payload.key');
    await writeFile(path, text, { mode: 0o600 });
    const refused = payloadKeys(path, true);
    await expect(refused).rejects.toMatchObject({ code: 'payload_key_unusable' });
    await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining('hunter2') });
  },
);
