import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { packed } from '../../../cli/copy/tar.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tar-'));
});
afterAll(() => rm(folder, { recursive: true }));

test('a tar that ends before anybody reads from it loses nothing', async () => {
  const directory = Buffer.concat([Buffer.from(`${folder}/d`), Buffer.from([0xff])]);
  await mkdir(directory);
  await writeFile(Buffer.concat([directory, Buffer.from('/file')]), 'content');
  const archive = packed(directory, () => undefined, new AbortController().signal);
  const first = archive.next();
  // The tar is started and ends while this process does nothing else.
  setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300));
  const bytes = [(await first).value];
  for await (const piece of archive) bytes.push(piece);
  expect(Buffer.concat(bytes.filter((piece) => piece !== undefined)).toString('latin1')).toContain('content');
});
