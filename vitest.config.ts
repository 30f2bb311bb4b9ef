import { defineConfig } from 'vitest/config';

const project = (name: string, include: string[], rest: object = {}) => ({
  extends: true as const,
  test: { name, include, ...rest },
});

/** Tests that use servers run one file after another: two cores are no place to measure time-outs side by side. */
const onServers = {
  fileParallelism: false,
  testTimeout: 60_000,
  hookTimeout: 120_000,
  globalSetup: ['test/support/temporal.ts'],
};

/**
 * Tests of sagas run side by side within a file, and all files in one process: each has faults, sandboxes and proofs of its
 * own, and what is imported is imported once.
 */
const sagas = 'test/workflows/*.integration.test.ts';

/** A stock cloud image takes minutes to build and to boot without KVM, so `npm run test:stock-image` has it to itself. */
const stockImage = process.env['MAYFLY_TEST_STOCK_IMAGE'] !== undefined;

export default defineConfig({
  test: {
    pool: 'forks',
    tags: [{ name: 'sweep', description: 'one promise at many points: test/support/sweep.ts' }],
    projects: [
      project('unit', ['test/**/*.test.ts'], {
        exclude: ['test/**/*.{integration,e2e,replay}.test.ts'],
        testTimeout: 20_000,
      }),
      project('replay', ['test/**/*.replay.test.ts'], { testTimeout: 60_000 }),
      project('sagas', [sagas], { ...onServers, isolate: false, maxConcurrency: 16 }),
      project('integration', ['test/**/*.integration.test.ts'], { ...onServers, exclude: [sagas] }),
      project('e2e', ['test/**/*.e2e.test.ts'], {
        ...onServers,
        exclude: stockImage ? [] : ['test/host/libvirt/cloud-init.e2e.test.ts'],
        testTimeout: 300_000,
        hookTimeout: 300_000,
      }),
    ],
  },
});
