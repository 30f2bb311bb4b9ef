// @ts-check
/**
 * What the Python client is built and checked with. Not a part of set-up: only `npm run client:python` and its test need it.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir, onPath, repository } from '../../worker/config/artifacts.mjs';
import { buildOnce } from './cache.mjs';
import { SetupProblem } from './problem.mjs';
import { run } from './run.mjs';

const wanted = join(repository, 'clients', 'python', 'requirements.txt');

function target() {
  const version = createHash('sha256').update(readFileSync(wanted)).digest('hex').slice(0, 16);
  return join(cacheDir(), 'python', version);
}

/** @returns {string | null} The Python that has them; null: they were not made yet. */
export function readyPythonTools() {
  return existsSync(join(target(), 'made')) ? join(target(), 'bin', 'python') : null;
}

/**
 * @returns {Promise<string>} The Python that has them. Its own programs are called with `-m`: the folder was renamed.
 * @throws {SetupProblem} where there is no Python that can make one
 */
export async function pythonTools() {
  const ready = readyPythonTools();
  if (ready !== null) return ready;
  const { signal } = new AbortController();
  if (onPath('python3') === null)
    throw new SetupProblem('python3 is missing: apt-get install python3 python3-venv (3.11 or newer).');
  await buildOnce({
    target: target(),
    proof: 'made',
    signal,
    note: () => {},
    build: async (folder) => {
      await run(['python3', '-m', 'venv', folder], { signal });
      const pip = [join(folder, 'bin', 'python'), '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
      await run([...pip, '-r', wanted], { signal });
      await run(['touch', join(folder, 'made')], { signal });
    },
  });
  return join(target(), 'bin', 'python');
}
