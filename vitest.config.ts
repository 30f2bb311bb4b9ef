import { defineConfig } from 'vitest/config';
import { HANGS_AFTER_MS } from './test/support/test-timeouts.ts';

const project = (name: string, include: string[], rest: object = {}) => ({
  extends: true as const,
  test: { name, include, ...rest },
});

/** Ends what hangs. scripts/test.mjs ends a file that takes longer than all of its tests may. Milliseconds. */
const BOUND_MS = 300_000;

/** Tests of sagas run side by side within a file: each has faults, sandboxes and proofs of its own. */
const SAGAS = ['test/workflows/*.integration.test.ts', 'test/extended/workflows/*.integration.test.ts'];
const TEMPORAL = 'test/support/temporal.ts';
const BOOTED_GUEST = 'test/support/booted-guest.ts';

/** docs/tests.md says what each project is for. */
export default defineConfig({
  test: {
    pool: 'forks',
    isolate: false, // a module is imported once; files leave nothing to one another
    fileParallelism: false, // scripts/test.mjs runs several vitests side by side
    experimental: { fsModuleCache: true }, // a module is transformed once, not by each vitest
    expect: { poll: { interval: 50, timeout: HANGS_AFTER_MS } },
    testTimeout: BOUND_MS,
    hookTimeout: BOUND_MS,
    tags: [
      { name: 'sweep', description: 'one promise at many points: test/support/sweep.ts' },
      {
        name: 'tool',
        description: 'left out where a tool is missing that set-up installs by name alone, or not at all',
      },
    ],
    projects: [
      project('unit', ['test/**/*.test.ts'], {
        exclude: ['test/**/*.{integration,e2e,installation}.test.ts'],
        setupFiles: ['test/support/unit-setup.ts'],
      }),
      project('sagas', SAGAS, { globalSetup: [TEMPORAL], maxConcurrency: 8 }),
      project('integration', ['test/**/*.integration.test.ts'], { globalSetup: [TEMPORAL], exclude: SAGAS }),
      project('e2e', ['test/**/*.e2e.test.ts'], { globalSetup: [TEMPORAL, BOOTED_GUEST] }),
      project('installation', ['test/**/*.installation.test.ts'], {
        globalSetup: [TEMPORAL, BOOTED_GUEST, 'test/support/libvirt-up.ts'],
      }),
    ],
  },
});
