// @ts-check
/** @module Ansible for fresh sandboxes, to try playbooks there; made only when named. */
import { join } from 'node:path';
import { ansibleArchive, ansibleCachePath, onPath, repository } from '../../worker/config/artifacts.mjs';
import { buildOnce } from './cache.mjs';
import { aptRemedy, rootBlocker, spaceBlocker } from './part.mjs';
import { run } from './run.mjs';

/** @type {import('./part.mjs').Part} */
export const ansible = {
  name: 'ansible',
  look() {
    const made = ansibleArchive();
    return made === null
      ? { ready: false, detail: 'Ansible for guests is not made: playbooks are written, and not checked' }
      : { ready: true, detail: `ansible-core ${made.version}` };
  },
  blockers: () => [
    ...rootBlocker('Ansible for guests', 'made'),
    ...(onPath('mmdebstrap') === null
      ? ['Ansible for guests is made with mmdebstrap: run set-up with its part `debian`.']
      : []),
    ...spaceBlocker(),
  ],
  remedy: aptRemedy,
  needs: ['debian'],
  after: ['image'],
  make: ({ signal, note }) =>
    buildOnce({
      target: ansibleCachePath(),
      proof: 'ansible.tar.gz',
      signal,
      note,
      async build(folder) {
        // Separate namespaces: killing a build also ends every process and mount in its root.
        const alone = ['unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--'];
        await run([...alone, join(repository, 'scripts', 'setup', 'ansible.sh'), folder], { signal, onLine: note });
      },
    }),
};
