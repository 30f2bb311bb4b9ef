// @ts-check
/** @module The program that reads guests' file systems on the host: mayfly-diff, built from go/diff. */
import { join } from 'node:path';
import { diffBinary, diffCachePath, diffVersion, repository } from '../../worker/config/artifacts.mjs';
import { buildOnce } from './cache.mjs';
import { goBlocker, goRemedy, spaceBlocker } from './part.mjs';
import { run } from './run.mjs';

/** @type {import('./part.mjs').Part} */
export const diff = {
  name: 'diff',
  look() {
    const binary = diffBinary();
    return binary === null
      ? { ready: false, detail: 'the program that compares file systems is not built' }
      : { ready: true, detail: binary };
  },
  blockers: () => [
    ...goBlocker(25, 'what compares file systems', 'copy the folder diff/ of the cache of a machine that has it'),
    ...spaceBlocker(),
  ],
  remedy: goRemedy,
  // The guest's programs leave most of the standard library compiled.
  after: ['guest'],
  make: ({ signal, note }) =>
    buildOnce({
      target: diffCachePath(),
      proof: 'mayfly-diff',
      signal,
      note,
      async build(folder, scratch) {
        note('building mayfly-diff');
        const env = { GOTMPDIR: scratch, GOFLAGS: '', CGO_ENABLED: '0' };
        // -buildvcs=false because a tarball of the sources has no history.
        const flags = ['-trimpath', '-buildvcs=false', '-ldflags', `-s -w -X main.version=${diffVersion()}`];
        await run(['go', 'build', ...flags, '-o', join(folder, 'mayfly-diff'), './diff'], {
          signal,
          cwd: join(repository, 'go'),
          env,
          nice: true,
        });
      },
    }),
};
