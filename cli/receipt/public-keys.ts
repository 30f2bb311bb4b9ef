import { readFile } from 'node:fs/promises';
import { usageError } from '../terminal/cli-error.ts';

const PEM = /-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g;

/** Reads the public keys of a file, as `mayfly receipt keys` prints them. @throws CliError when there is none */
export async function readPublicKeys(path: string): Promise<string[]> {
  const keys = (await readFile(path, 'utf8')).match(PEM) ?? [];
  if (keys.length > 0) return keys;
  throw usageError(`${path} has no public key in PEM`, '`mayfly receipt keys` prints some.');
}
