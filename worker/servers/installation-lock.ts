import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { hasOpen, locked } from '../../host/os/flock.ts';
import { MayflyError } from '../../model/errors.ts';

/** A process id and the end of its line. */
const MAX_PID_BYTES = 11;

/** What whoever starts all of Mayfly in a state folder holds, before it starts anything: its servers take one user each. */
export class InstallationLock {
  private constructor(private readonly file: FileHandle) {}

  /** @throws MayflyError state_folder_in_use, which names the process that holds it where that can be told */
  static async take(stateDir: string): Promise<InstallationLock> {
    const path = join(stateDir, 'up.lock');
    const file = await opened(path);
    try {
      if (!(await locked(file, ['--exclusive', '--nonblock']))) throw inUse(stateDir, await holderOf(file));
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

async function opened(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'a+', 0o600);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const what = `${path} cannot be opened, so nobody can tell whether another Mayfly runs there`;
    throw new MayflyError('state_folder_in_use', `${what}: ${why}`, { cause });
  }
}

/**
 * The process that wrote its id to the file, if it has the file open: what an earlier holder wrote is not taken for it, nor
 * another program that has its id now. Null: somebody else, such as one that has only just taken it.
 */
async function holderOf(file: FileHandle): Promise<number | null> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_PID_BYTES), 0, MAX_PID_BYTES, 0);
  const text = buffer.toString('latin1', 0, bytesRead);
  return /^[1-9]\d*\n$/.test(text) && hasOpen(Number(text), file) ? Number(text) : null;
}

function inUse(stateDir: string, pid: number | null): MayflyError {
  const who = pid === null ? 'Another `mayfly up`' : `Another \`mayfly up\` (pid ${pid})`;
  return new MayflyError('state_folder_in_use', `${who} holds the state folder ${stateDir}; nothing was started.`);
}
