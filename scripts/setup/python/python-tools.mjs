// @ts-check
/**
 * @module Packages that build and check the Python client: `npm run client:python` and its tests need them, Mayfly does
 * not.
 */
import { join } from 'node:path';
import { repository } from '../../../worker/config/artifacts.mjs';
import { pipRemedy } from '../part.mjs';
import { makeVenv, readyVenv } from './python-venv.mjs';

const wanted = join(repository, 'clients', 'python', 'requirements.txt');

/** @returns {string | null} Python with these packages; null: not made yet. */
export function readyPythonTools() {
  return readyVenv(wanted);
}

/**
 * @returns {Promise<string>} Python with these packages. Call its programs with `-m`: the folder was renamed.
 * @throws {import('../problem.mjs').SetupProblem} when no suitable Python is available
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
