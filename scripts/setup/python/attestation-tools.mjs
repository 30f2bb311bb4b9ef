// @ts-check
/** @module Libraries of in-toto and of DSSE, with which tests verify receipts; Mayfly itself does not need them. */
import { join } from 'node:path';
import { repository } from '../../../worker/config/artifacts.mjs';
import { pipRemedy } from '../part.mjs';
import { makeVenv, readyVenv } from './python-venv.mjs';

const wanted = join(repository, 'scripts', 'setup', 'python', 'attestation-tools.txt');

/** @returns {string | null} Python with these packages; null: not made yet. */
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
