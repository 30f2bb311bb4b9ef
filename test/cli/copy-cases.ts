import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { runCli } from '../../cli/main.ts';
import { Io } from '../../cli/terminal/io.ts';
import { type FileDoor, openFileDoor } from '../support/file-door.ts';

export const MAYFLY = fileURLToPath(new URL('../../bin/mayfly', import.meta.url));

/** A sandbox with files, and for each test an empty folder on either side of `mayfly cp`. */
export function useCopies() {
  let door: FileDoor | undefined;
  let [hereFolder, guestFolder] = ['', ''];
  beforeAll(async () => {
    door = await openFileDoor();
  });
  afterAll(() => door?.close());
  beforeEach(async () => {
    const folder = await mkdtemp(join(process.env['MAYFLY_TEST_ROOT'] ?? tmpdir(), 'cp-'));
    [hereFolder, guestFolder] = [join(folder, 'here'), join(folder, 'guest')];
    for (const path of [folder, hereFolder, guestFolder]) {
      await mkdir(path, { recursive: true });
      await chmod(path, 0o755);
    }
    return () => rm(folder, { recursive: true });
  });
  const there = () => {
    if (!door) throw new Error('the API is not open yet');
    return door;
  };
  const environment = (): NodeJS.ProcessEnv => ({
    ...process.env,
    MAYFLY_URL: there().url,
    MAYFLY_API_KEY: there().key,
  });

  /** A path of the sandbox, as on the command line. */
  const remote = (path = ''): string => `${there().id}:${guestFolder}${path}`;

  async function cp(args: string[], signal = new AbortController().signal) {
    const out: Buffer[] = [];
    const err: string[] = [];
    const stdout = { write: (text: string | Uint8Array) => out.push(Buffer.from(text as string)) };
    const stderr = { write: (text: string | Uint8Array) => err.push(String(text)) };
    const code = await runCli(['cp', ...args], new Io({ stdout, stderr, env: environment(), signal, force: signal }));
    return { code, out: Buffer.concat(out), err: err.join('') };
  }

  return { there, here: () => hereFolder, guest: () => guestFolder, environment, remote, cp };
}
