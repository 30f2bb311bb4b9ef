import { mkdir, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { packFolder } from '../../../cli/copy/tar.ts';
import { useFolder } from '../../support/use-folder.ts';

const folder = useFolder();

test('a tar that ends before it is read loses nothing', async () => {
  const directory = Buffer.concat([Buffer.from(`${folder}/d`), Buffer.from([0xff])]);
  await mkdir(directory);
  await writeFile(Buffer.concat([directory, Buffer.from('/file')]), 'content');
  const archive = packFolder(directory, () => undefined, new AbortController().signal);
  const first = archive.next();
  // The tar starts and ends while this process is blocked.
  setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300));
  const bytes = [(await first).value];
  for await (const piece of archive) bytes.push(piece);
  expect(Buffer.concat(bytes.filter((piece) => piece !== undefined)).toString('latin1')).toContain('content');
});
