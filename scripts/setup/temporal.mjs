// @ts-check
/** @module Temporal's development server, built from its Go module. */
import { dirname } from 'node:path';
import { temporalBinary, temporalCachePath, temporalVersion } from '../../worker/config/artifacts.mjs';
import { buildOnce } from './cache.mjs';
import { goBlocker, spaceBlocker } from './part.mjs';
import { run } from './run.mjs';

/** @type {import('./part.mjs').Part} */
export const temporal = {
  name: 'temporal',
  look() {
    const address = process.env['TEMPORAL_ADDRESS'];
    if (address) return { ready: true, detail: `TEMPORAL_ADDRESS names ${address}` };
    const binary = temporalBinary();
    return binary === null
      ? { ready: false, detail: `Temporal CLI ${temporalVersion} is not built` }
      : { ready: true, detail: binary };
  },
  blockers: () => [...goBlocker(25, 'Temporal', 'set TEMPORAL_ADDRESS to a server that is running'), ...spaceBlocker()],
  make: ({ signal, note }) =>
    buildOnce({
      target: dirname(temporalCachePath()),
      proof: 'temporal',
      signal,
      note,
      async build(folder, scratch) {
        note(`building CLI ${temporalVersion} with its server, about 3 minutes the first time`);
        const module = `github.com/temporalio/cli/cmd/temporal@v${temporalVersion}`;
        // GOFLAGS of a Go developer's shell, such as -mod=vendor, are not meant for this build.
        await run(['go', 'install', module], {
          signal,
          env: { GOBIN: folder, GOTMPDIR: scratch, GOFLAGS: '' },
        });
      },
    }),
};
