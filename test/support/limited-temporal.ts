import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { startTemporalServer } from '../../worker/servers/temporal-server.ts';

/**
 * A Temporal server of a file's own, with small limits; its address, as the environment of Mayfly. To be called before
 * what uses it is begun.
 */
export function useLimitedTemporal(limits: Readonly<Record<string, number>>): () => NodeJS.ProcessEnv {
  let address = '';
  let stop = async () => {};
  beforeAll(async () => {
    const dir = await mkdtemp(join(process.env['MAYFLY_TEST_ROOT'] ?? tmpdir(), 'limited-'));
    const server = await startTemporalServer({ dir, limits });
    address = server.address;
    stop = async () => {
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    };
  });
  afterAll(() => stop());
  return () => ({ TEMPORAL_ADDRESS: address });
}
