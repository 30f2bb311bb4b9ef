import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { checkImage, isBeingWritten, virtualBytesOf } from '../../../host/disk/image.ts';
import { exec } from '../../../host/os/exec.ts';
import { useFreshFolder } from '../../support/use-folder.ts';

const folder = useFreshFolder();
let image: string;
beforeEach(async () => {
  image = join(folder, 'a "b".qcow2');
  await exec('qemu-img', ['create', '-q', '-f', 'qcow2', image, '16M']);
});

const signal = () => AbortSignal.timeout(120_000);

/** Keeps the image open with QEMU's own code while `use` runs. */
async function whileOpen(flags: string[], use: () => Promise<void>): Promise<void> {
  const holder = spawn('qemu-io', [...flags, '-f', 'qcow2', image], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(holder, 'exit');
  await once(holder.stdout, 'data'); // its prompt
  try {
    await use();
  } finally {
    holder.stdin.end('quit\n');
    await ended;
  }
}

test('an image counts as being written while a QEMU has it open for writing, not for reading', async () => {
  expect(await isBeingWritten(image)).toBe(false);
  await whileOpen([], async () => {
    expect(await isBeingWritten(image)).toBe(true);
    await expect(checkImage(image, signal())).rejects.toThrow(/lock/);
  });
  await whileOpen(['-r'], async () => expect(await isBeingWritten(image)).toBe(false));
  expect(await isBeingWritten(image)).toBe(false);
});

test('a missing image is an error', async () => {
  await expect(isBeingWritten(join(folder, 'nowhere.qcow2'))).rejects.toThrow(/No such file/);
});

test('a damaged image is distinguished from an intact one', async () => {
  await exec('qemu-io', ['-f', 'qcow2', '-c', 'write -P 7 0 1M', image]);
  await checkImage(image, signal());
  expect(await virtualBytesOf(image)).toBe(16 * 1024 * 1024);
  const file = await open(image, 'r+');
  await file.write(Buffer.alloc(64, 0xff), 0, 64, 3 * 65_536); // first entries of the L1 table
  await file.close();
  await expect(checkImage(image, signal())).rejects.toThrow();
});
