import { defineConfig } from 'vitest/config';

const project = (name: string, include: string[], rest: object = {}) => ({
  extends: true as const,
  test: { name, include, ...rest },
});

/** Bounds that end what hangs. scripts/test.mjs takes a longer silence for the end of vitest itself. Milliseconds. */
const BOUND_MS = 300_000;

/** Tests of sagas run side by side within a file: each has faults, sandboxes and proofs of its own. */
const sagas = 'test/workflows/*.integration.test.ts';
const onTemporal = { globalSetup: ['test/support/temporal.ts'] };

export default defineConfig({
  test: {
    pool: 'forks',
    isolate: false, // what is imported is imported once; files leave nothing to one another
    fileParallelism: false, // scripts/test.mjs runs several vitests side by side
    experimental: { fsModuleCache: true }, // transformed once, not by each vitest
    testTimeout: BOUND_MS,
    hookTimeout: BOUND_MS,
    tags: [
      { name: 'sweep', description: 'one promise at many points: test/support/sweep.ts' },
      { name: 'full', description: 'left out of npm test: docs/tests.md' },
    ],
    projects: [
      project('unit', ['test/**/*.test.ts'], { exclude: ['test/**/*.{integration,e2e,replay}.test.ts'] }),
      project('replay', ['test/**/*.replay.test.ts']),
      project('sagas', [sagas], { ...onTemporal, maxConcurrency: 8 }),
      project('integration', ['test/**/*.integration.test.ts'], { ...onTemporal, exclude: [sagas] }),
      project('e2e', ['test/**/*.e2e.test.ts'], onTemporal),
    ],
  },
});
