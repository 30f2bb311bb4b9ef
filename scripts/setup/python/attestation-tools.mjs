// @ts-check
/** @module What tests verify receipts with: libraries of in-toto and of DSSE, which Mayfly itself does not need. */
import { join } from 'node:path';
import { repository } from '../../../worker/config/artifacts.mjs';
import { pipRemedy } from '../part.mjs';
import { makeVenv, readyVenv } from './python-venv.mjs';

const wanted = join(repository, 'scripts', 'setup', 'python', 'attestation-tools.txt');

/** @returns {string | null} The Python that has them; null: they were not made yet. */
export function readyAttestationTools() {
  return readyVenv(wanted);
}

/** @type {import('../part.mjs').Part} */
export const attestationTools = {
  name: 'attestation-tools',
  look: () =>
    readyAttestationTools() === null
      ? { ready: false, detail: 'receipts are not verified by libraries of others' }
      : { ready: true, detail: 'securesystemslib 1.6, in-toto-attestation 0.9' },
  blockers: () => [],
  remedy: pipRemedy,
  after: ['python-client'],
  make: async (job) => void (await makeVenv(wanted, job)),
};
