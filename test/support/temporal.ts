import './plain-stacks.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startTemporalServer } from '../../worker/servers/temporal-server.ts';
import { FORGETS_AT_ONCE } from './lose-workflow.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    temporalAddress: string;
  }
}

/** Starts one Temporal server for all test files of a project, unless TEMPORAL_ADDRESS is set. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['TEMPORAL_ADDRESS'];
  if (given) {
    project.provide('temporalAddress', given);
    return async () => {};
  }
  const dir = await mkdtemp(join(process.env['MAYFLY_TEST_ROOT'] ?? tmpdir(), 'temporal-'));
  const server = await startTemporalServer({ dir, limits: FORGETS_AT_ONCE });
  project.provide('temporalAddress', server.address);
  return async () => {
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  };
}
