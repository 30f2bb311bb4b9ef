// @ts-check
/** @module The embedded store, built from go/store. */
import { dirname, join } from 'node:path';
import { repository, storeBinary, storeCachePath } from '../../worker/config/artifacts.mjs';
import { buildOnce } from './cache.mjs';
import { goBlocker, goRemedy, spaceBlocker } from './part.mjs';
import { patchedModfile } from './patched-modules.mjs';
import { run } from './run.mjs';

/** @type {import('./part.mjs').Part} */
export const store = {
  name: 'store',
  look() {
    if (process.env['MONGODB_URI']) return { ready: true, detail: 'MONGODB_URI is set' };
    const binary = storeBinary();
    return binary === null
      ? { ready: false, detail: 'the embedded store is not built' }
      : { ready: true, detail: `${binary.kind === 'mongod' ? 'MongoDB' : 'embedded'}, ${binary.path}` };
  },
  blockers: () => [
    ...goBlocker(23, 'the embedded store', 'set MONGODB_URI to a MongoDB that is running'),
    ...spaceBlocker(),
  ],
  remedy: goRemedy,
  // They leave most of the standard library compiled.
  after: ['guest', 'diff'],
  make: ({ signal, note }) =>
    buildOnce({
      target: dirname(storeCachePath()),
      proof: 'mayfly-store',
      signal,
      note,
      async build(folder, scratch) {
        note('building, half a minute to two');
        const output = join(folder, 'mayfly-store');
        const project = join(repository, 'go', 'store');
        const modfile = await patchedModfile({ project, scratch, signal });
        // Only FerretDB's SQLite backend is needed; -buildvcs=false because a tarball of the sources has no history.
        // Without cgo it shares the compiled standard library with the programs of guest and diff.
        await run(
          [
            'go',
            'build',
            `-modfile=${modfile}`,
            '-trimpath',
            '-buildvcs=false',
            '-tags',
            'ferretdb_no_postgresql',
            '-ldflags',
            '-s -w',
            '-o',
            output,
            '.',
          ],
          { signal, cwd: project, env: { GOTMPDIR: scratch, GOFLAGS: '', CGO_ENABLED: '0' }, nice: true },
        );
      },
    }),
};
