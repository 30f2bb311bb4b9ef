// @ts-check
/** @module Builds the programs that run in guests: the agent, the gate of sources and the starter of root file systems. */
import { rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { guestBinaries, guestCachePath, guestVersion, repository } from '../../worker/config/artifacts.mjs';
import { buildOnce } from './cache.mjs';
import { goBlocker, goRemedy, spaceBlocker } from './part.mjs';
import { run } from './run.mjs';

/** @type {import('./part.mjs').Part} */
export const guest = {
  name: 'guest',
  look() {
    const binaries = guestBinaries();
    return binaries === null
      ? { ready: false, detail: 'the agent and the gate for guests are not built' }
      : { ready: true, detail: `version ${binaries.version}, ${dirname(binaries.agent)}` };
  },
  blockers: () => [
    ...goBlocker(25, 'what runs inside guests', 'copy the folder guest/ of the cache of a machine that has it'),
    ...spaceBlocker(),
  ],
  remedy: goRemedy,
  make: ({ signal, note }) =>
    buildOnce({
      target: guestCachePath(),
      proof: 'mayfly-agent',
      signal,
      note,
      async build(folder, scratch) {
        const project = join(repository, 'go');
        const env = { GOTMPDIR: scratch, GOFLAGS: '', CGO_ENABLED: '0' };
        const names = ['agent', 'gate', 'root'];
        note(`building the ${names.join(', the ')}`);
        // -buildvcs=false because a tarball of the sources has no history.
        const flags = ['-trimpath', '-buildvcs=false', '-ldflags', `-s -w -X main.version=${guestVersion()}`];
        // One command, so that shared packages are loaded and compiled once, by all processors.
        const packages = names.map((name) => `./${name}`);
        await run(['go', 'build', ...flags, '-o', `${scratch}/`, ...packages], { signal, cwd: project, env });
        for (const name of names) await rename(join(scratch, name), join(folder, `mayfly-${name}`));
      },
    }),
};
