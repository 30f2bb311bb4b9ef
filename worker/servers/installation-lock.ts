import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { hasOpen, tryLock } from '../../host/os/flock.ts';
import { MayflyError } from '../../model/errors.ts';

/** Process id and the end of its line. */
const MAX_PID_BYTES = 11;

/**
 * Lock of the one `mayfly up` of a state folder, taken before anything starts: the folder's servers allow one user
 * each.
 */
export class InstallationLock {
  private constructor(private readonly file: FileHandle) {}

  /** @throws MayflyError state_folder_in_use that names the holding process, if known */
  static async take(stateDir: string): Promise<InstallationLock> {
    const path = join(stateDir, 'up.lock');
    const file = await openLockFile(path);
    try {
      if (!(await tryLock(file, ['--exclusive', '--nonblock']))) throw inUse(stateDir, await findHolder(file));
      await file.truncate(0);
      await file.write(`${process.pid}\n`);
      return new InstallationLock(file);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async release(): Promise<void> {
    await this.file.close();
  }
}

async function openLockFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'a+', 0o600);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const what = `${path} cannot be opened, so nobody can tell whether another Mayfly runs there`;
    throw new MayflyError('state_folder_in_use', `${what}: ${why}`, { cause });
  }
}

/**
 * Returns the process that wrote its id to the file, if it has the file open: an earlier holder does not count, nor
 * another program with a reused id. Null: unknown, such as a process that has only just taken the lock.
 */
async function findHolder(file: FileHandle): Promise<number | null> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_PID_BYTES), 0, MAX_PID_BYTES, 0);
  const text = buffer.toString('latin1', 0, bytesRead);
  return /^[1-9]\d*\n$/.test(text) && hasOpen(Number(text), file) ? Number(text) : null;
}

function inUse(stateDir: string, pid: number | null): MayflyError {
  const who = pid === null ? 'Another `mayfly up`' : `Another \`mayfly up\` (pid ${pid})`;
  return new MayflyError('state_folder_in_use', `${who} holds the state folder ${stateDir}; nothing was started.`);
}
