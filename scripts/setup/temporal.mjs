// @ts-check
/** @module Temporal's development server, built from its Go module with worker/servers/dev-server/patches.json. */
import { dirname, join } from 'node:path';
import { repository, temporalBinary, temporalCachePath } from '../../worker/config/artifacts.mjs';
import { buildOnce } from './cache.mjs';
import { goBlocker, spaceBlocker } from './part.mjs';
import { patchedModfile } from './patched-modules.mjs';
import { run } from './run.mjs';

/** @type {import('./part.mjs').Part} */
export const temporal = {
  name: 'temporal',
  look() {
    const address = process.env['TEMPORAL_ADDRESS'];
    if (address) return { ready: true, detail: `TEMPORAL_ADDRESS names ${address}` };
    const binary = temporalBinary();
    return binary === null ? { ready: false, detail: 'Temporal is not built' } : { ready: true, detail: binary };
  },
  blockers: () => [...goBlocker(25, 'Temporal', 'set TEMPORAL_ADDRESS to a server that is running'), ...spaceBlocker()],
  make: ({ signal, note }) =>
    buildOnce({
      target: dirname(temporalCachePath()),
      proof: 'temporal',
      signal,
      note,
      async build(folder, scratch) {
        note('building its CLI with the server, about 3 minutes the first time');
        const project = join(repository, 'worker', 'servers', 'dev-server');
        const modfile = await patchedModfile({ project, scratch, signal });
        const what = ['-o', join(folder, 'temporal'), 'github.com/temporalio/cli/cmd/temporal'];
        // GOFLAGS of a Go developer's shell, such as -mod=vendor, are not meant for this build.
        await run(['go', 'build', `-modfile=${modfile}`, '-trimpath', '-buildvcs=false', ...what], {
          signal,
          cwd: project,
          env: { GOTMPDIR: scratch, GOFLAGS: '' },
        });
      },
    }),
};
