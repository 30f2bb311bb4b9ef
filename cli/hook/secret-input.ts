import { readFile } from 'node:fs/promises';
import { usageError } from '../terminal/cli-error.ts';

const FROM = 'MAYFLY_HOOK_SECRET';

/** A secret is no argument: those of a process can be read by every user. Null: none is given. @throws CliError */
export async function givenSecret(env: NodeJS.ProcessEnv, file: string | undefined): Promise<string | null> {
  if (file === undefined) return env[FROM] || null;
  const text = await readFile(file === '-' ? '/dev/stdin' : file, 'utf8').catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw usageError(`${JSON.stringify(file)} cannot be read (${code})`, 'Name a file with the secret, and no more.');
  });
  const secret = text.replace(/\r?\n$/, '');
  if (secret === '') throw usageError(`${JSON.stringify(file)} is empty`, 'Name a file with the secret, and no more.');
  return secret;
}

/** @throws CliError there is none */
export async function requiredSecret(env: NodeJS.ProcessEnv, file: string | undefined): Promise<string> {
  const secret = await givenSecret(env, file);
  if (secret !== null) return secret;
  throw usageError('the secret is missing', `Give it by --secret-file, or set ${FROM}.`);
}
