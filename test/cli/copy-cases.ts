import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { type FileDoor, openFileDoor } from '../support/file-door.ts';
import { useFreshFolder } from '../support/use-folder.ts';
import { runLine } from './run-line.ts';

export const MAYFLY = fileURLToPath(new URL('../../bin/mayfly', import.meta.url));

/** Provides a sandbox with files, and for each test an empty folder on both sides of `mayfly cp`. */
export function useCopies() {
  let door: FileDoor | undefined;
  const folder = useFreshFolder();
  const [here, guest] = [join(folder, 'here'), join(folder, 'guest')];
  beforeAll(async () => {
    door = await openFileDoor();
  });
  afterAll(() => door?.close());
  beforeEach(async () => {
    for (const path of [folder, here, guest]) {
      await mkdir(path, { recursive: true });
      await chmod(path, 0o755);
    }
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

  /** Returns a path of the sandbox, in command line form. */
  const remote = (path = ''): string => `${there().id}:${guest}${path}`;

  const cp = (args: string[]) => runLine(there(), ['cp', ...args], { env: environment() });

  return { there, here: () => here, guest: () => guest, environment, remote, cp };
}
