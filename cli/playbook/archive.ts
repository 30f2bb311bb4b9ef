import { lstat, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { orAbsent } from '../../host/os/absent.ts';
import { tarEntries } from '../../model/image/tar-scanner.ts';
import { usageError } from '../terminal/cli-error.ts';
import type { Io } from '../terminal/io.ts';

/** What we write ourselves: names of files in a playbook. */
const OURS = /^(?:playbook\.yml|vars\.example\.yml|report\.md|files\/\d{4,6})$/;

/** Before anything is begun: nothing of a person is written over. @throws CliError */
export async function refuseTaken(output: string): Promise<void> {
  if (output === '-') return;
  if (await orAbsent(lstat(output)))
    throw usageError(`${output} is there already`, 'Name a folder, or a file that ends with .tar, which is not.');
}

/** As a folder, as the archive that it is, or to standard output. */
export async function writeArchive(io: Io, output: string, archive: Uint8Array): Promise<void> {
  if (output === '-') return io.write('stdout', archive);
  if (output.endsWith('.tar')) return writeFile(output, archive, { flag: 'wx' });
  await mkdir(output);
  for (const { path, bytes } of tarEntries(archive)) {
    if (!OURS.test(path)) throw new RangeError(`The archive of a playbook has a file ${JSON.stringify(path)}.`);
    await mkdir(dirname(join(output, path)), { recursive: true });
    await writeFile(join(output, path), bytes, { flag: 'wx' });
  }
}
