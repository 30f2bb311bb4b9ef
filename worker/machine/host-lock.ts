import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { orAbsent } from '../../host/os/absent.ts';
import { tryLock } from '../../host/os/flock.ts';
import { MayflyError } from '../../model/errors.ts';

/** Wait for the lock, s: {@link HostLock.isHeld} takes it for a moment. */
const WAIT_SECONDS = 2;

/** Lock of a state folder's only host worker, on a file that no other user can open. */
export class HostLock {
  private constructor(private readonly file: FileHandle) {}

  /** @throws MayflyError host_unavailable when another process holds it */
  static async take(stateDir: string): Promise<HostLock> {
    const file = await open(lockPath(stateDir), 'a', 0o600);
    if (await tryLock(file, ['--exclusive', '--wait', String(WAIT_SECONDS)])) return new HostLock(file);
    await file.close();
    const why = `another host worker serves ${stateDir}; stop it, or use another MAYFLY_STATE_DIR`;
    throw new MayflyError('host_unavailable', why);
  }

  /** Reports whether a host worker serves the state folder now. */
  static async isHeld(stateDir: string): Promise<boolean> {
    const file = await orAbsent(open(lockPath(stateDir), 'r'));
    if (file === null) return false;
    try {
      return !(await tryLock(file, ['--shared', '--nonblock']));
    } finally {
      await file.close();
    }
  }

  async release(): Promise<void> {
    await this.file.close();
  }
}

function lockPath(stateDir: string): string {
  return join(stateDir, 'host.lock');
}
