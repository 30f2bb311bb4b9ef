// @ts-check
/** @module What the Python client is built and checked with: `npm run client:python` and its tests need it, Mayfly does not. */
import { join } from 'node:path';
import { repository } from '../../../worker/config/artifacts.mjs';
import { pipRemedy } from '../part.mjs';
import { makeVenv, readyVenv } from './python-venv.mjs';

const wanted = join(repository, 'clients', 'python', 'requirements.txt');

/** @returns {string | null} The Python that has them; null: they were not made yet. */
export function readyPythonTools() {
  return readyVenv(wanted);
}

/**
 * @returns {Promise<string>} The Python that has them. Its own programs are called with `-m`: the folder was renamed.
 * @throws {import('../problem.mjs').SetupProblem} where there is no Python that can make one
 */
export async function pythonTools() {
  const { signal } = new AbortController();
  return readyVenv(wanted) ?? (await makeVenv(wanted, { signal, note: () => {} }));
}

/** @type {import('../part.mjs').Part} */
export const pythonClient = {
  name: 'python-client',
  look: () =>
    readyPythonTools() === null
      ? { ready: false, detail: 'the Python client is neither built nor tested' }
      : { ready: true, detail: 'what the Python client is built and tested with' },
  blockers: () => [],
  remedy: pipRemedy,
  make: async (job) => void (await makeVenv(wanted, job)),
};
