// @ts-check
/** @module A later ansible-core, and ansible-lint: tests check playbooks with them; made only when named. */
import { join } from 'node:path';
import { repository } from '../../../worker/config/artifacts.mjs';
import { pipRemedy } from '../part.mjs';
import { makeVenv, readyVenv } from './python-venv.mjs';

const wanted = join(repository, 'scripts', 'setup', 'python', 'ansible-tools.txt');

/** @returns {string | null} Python with these packages; null: not made yet. */
export function readyAnsibleTools() {
  return readyVenv(wanted);
}

/** @type {import('../part.mjs').Part} */
export const ansibleTools = {
  name: 'ansible-tools',
  look: () =>
    readyAnsibleTools() === null
      ? { ready: false, detail: 'playbooks are not held to a later ansible-core and to ansible-lint' }
      : { ready: true, detail: 'ansible-core 2.19, ansible-lint 26.10' },
  blockers: () => [],
  remedy: pipRemedy,
  make: async (job) => void (await makeVenv(wanted, job)),
};
