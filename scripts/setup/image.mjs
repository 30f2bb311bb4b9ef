// @ts-check
/** @module The golden images, built by images/build.sh. */
import { join } from 'node:path';
import { goldenImage, guestBinaries, imageCachePath, repository } from '../../worker/config/artifacts.mjs';
import { buildOnce } from './cache.mjs';
import { aptRemedy, rootBlocker, spaceBlocker } from './part.mjs';
import { SetupProblem } from './problem.mjs';
import { run } from './run.mjs';

export const image = imagePart('image', 'golden-debian12');
/** For tests alone: users run `mayfly image pull desktop`, which also makes it a source of their host. */
export const desktop = imagePart('desktop', 'desktop-debian12', ['image', 'ansible']);

/**
 * @param {string} name
 * @param {import('../../worker/config/artifacts.mjs').ImageName} imageName
 * @param {readonly string[]} [after]
 * @returns {import('./part.mjs').Part}
 */
function imagePart(name, imageName, after = []) {
  return {
    name,
    look() {
      if (process.env['MAYFLY_HOST'] === 'simulated')
        return { ready: true, detail: 'not needed by the simulated host' };
      const golden = goldenImage(imageName);
      return golden === null
        ? { ready: false, detail: `${imageName} is not built` }
        : { ready: true, detail: `${golden.name} ${golden.digest.slice(0, 19)}, kernel ${golden.kernelVersion}` };
    },
    blockers: () => [...rootBlocker(imageName, 'built'), ...spaceBlocker()],
    remedy: aptRemedy,
    needs: ['debian', 'guest'],
    after,
    make: (job) => buildImage(imageName, job),
  };
}

/**
 * Builds an image unless it exists; waits for a concurrent build.
 * @param {import('../../worker/config/artifacts.mjs').ImageName} name
 * @param {import('./part.mjs').Job} job
 * @returns {Promise<void>}
 * @throws {SetupProblem}
 */
export async function buildImage(name, { signal, note }) {
  await buildOnce({
    target: imageCachePath(name),
    proof: 'image.json',
    signal,
    note,
    async build(folder) {
      const binaries = guestBinaries();
      if (binaries === null)
        throw new SetupProblem('the image holds the guest agent: run set-up with its part `guest`');
      // Separate namespaces: killing a build also ends every process and mount in its root.
      const alone = ['unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--'];
      const build = [join(repository, 'images', 'build.sh'), name, folder, binaries.agent];
      await run([...alone, ...build], { signal, onLine: note });
    },
  });
}
