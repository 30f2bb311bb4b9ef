import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { CliError, EXIT } from '../terminal/cli-error.ts';
import { formatPath, join, parentOf } from './side.ts';

/**
 * Writes a local file atomically; an existing file keeps its mode. Follows a link only within its folder: one that
 * leads out may come from a guest. @throws CliError
 */
export async function writeAtomically(
  path: Buffer,
  content: AsyncIterable<Uint8Array>,
  newMode: number,
): Promise<void> {
  const target = await realpath(path, { encoding: 'buffer' }).catch(valueIfMissing(path));
  await refuseLinkOut(path);
  const present = await stat(target).catch(valueIfMissing(null));
  if (present && !present.isFile()) throw pathConflictError(path);
  const temporary = temporaryBeside(target);
  const { O_CREAT, O_EXCL, O_WRONLY } = constants;
  const file = await open(temporary, O_CREAT | O_EXCL | O_WRONLY, 0o600);
  try {
    await fill(file, content);
    await file.chmod(present ? present.mode & 0o7777 : newMode & 0o777 & ~process.umask());
    await file.sync();
    await file.close();
    await rename(temporary, target);
  } catch (error) {
    await file.close();
    await rm(temporary, { force: true });
    throw error;
  }
}

/**
 * Refuses links that a guest may have planted: a link at the path must stay in its folder, and links on the way of a
 * path below the working directory must stay below it.
 * @throws CliError
 */
export async function refuseLinkOut(path: Buffer): Promise<void> {
  const folder = await real(parentOf(path));
  if (folder === null) return; // the write reports the missing folder
  const parts = path.toString('latin1').split('/');
  const isBelow = parts[0] !== '' && !parts.includes('..');
  const here = isBelow ? await real(Buffer.from('.')) : null;
  if (here && !isWithin(here, folder)) throw leadsOut(parentOf(path), folder);
  const target = await real(path);
  if (target && (await lstat(path)).isSymbolicLink() && !isWithin(folder, target)) throw leadsOut(path, target);
}

function real(path: Buffer): Promise<Buffer | null> {
  return realpath(path, { encoding: 'buffer' }).catch(valueIfMissing(null));
}

function isWithin(folder: Buffer, path: Buffer): boolean {
  const start = join(folder, '');
  return path.equals(folder) || path.subarray(0, start.length).equals(start);
}

function leadsOut(path: Buffer, target: Buffer): CliError {
  const why = `${formatPath(path)} leads by a link to ${formatPath(target)}, which is outside`;
  return new CliError(EXIT.failed, 'Nothing was copied', why, 'Name that place itself, or remove the link.');
}

/** Returns an unused name in the same folder. */
export function temporaryBeside(path: Buffer): Buffer {
  return join(parentOf(path), `.mayfly-${randomBytes(16).toString('hex')}`);
}

/** Makes a `catch` handler that returns `value` for a missing file, and rethrows other errors. */
export function valueIfMissing<T>(value: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === 'ENOENT') return value;
    throw error;
  };
}

export function pathConflictError(path: Buffer): CliError {
  const why = 'only a file can be replaced by a file, and only a directory added to';
  return new CliError(
    EXIT.failed,
    `Something else is at ${formatPath(path)}`,
    why,
    'Choose another path, or remove it.',
  );
}

async function fill(file: FileHandle, content: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of content) {
    for (let at = 0; at < chunk.length; ) at += (await file.write(chunk, at)).bytesWritten;
  }
}
