import { open } from 'node:fs/promises';
import { orAbsent } from '../../host/os/absent.ts';
import { usageError } from '../terminal/cli-error.ts';

/** The text of a Dockerfile; `-` is standard input. @throws CliError */
export async function dockerfileOf(path: string, most: number): Promise<string> {
  const file = await orAbsent(open(path === '-' ? '/dev/stdin' : path));
  if (!file) throw usageError(`there is no file ${JSON.stringify(path)}`, 'Name the Dockerfile with -f.');
  try {
    const bytes = Buffer.alloc(most + 1);
    for (let length = 0; length < bytes.length; ) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length, null);
      if (bytesRead === 0) return bytes.toString('utf8', 0, length);
      length += bytesRead;
    }
  } finally {
    await file.close();
  }
  throw usageError(`${path} has more than ${most} bytes`);
}
