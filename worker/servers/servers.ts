import { join } from 'node:path';
import { allSettledOrThrow } from '../../host/os/abort.ts';
import { ExecError } from '../../host/os/exec.ts';
import { MayflyError } from '../../model/errors.ts';
import type { Closers } from '../config/closers.ts';
import type { Config } from '../config/config.ts';
import { guardAddress, OPEN_ADDRESS, ownAddress, unguard } from './loopback-guard.ts';
import { startStoreServer } from './store-server.ts';
import { startTemporalServer } from './temporal-server.ts';

/** Addresses of the two servers, Mayfly's own or external. */
export interface Servers {
  temporalAddress: string;
  temporalUiUrl: string | null;
  storeUri: string;
  /** Resolves with a sentence when one of Mayfly's own has ended; never when both are external. */
  died: Promise<string>;
}

/** Starts Temporal and the store concurrently, unless the environment names running ones. */
export async function ensureServers(
  config: Config,
  closers: Closers,
  onProgress: (line: string) => void,
): Promise<Servers> {
  const deaths: Promise<string>[] = [];
  const timed = progress(onProgress);
  const temporal = async () => {
    if (config.temporalAddress) return { temporalAddress: config.temporalAddress, temporalUiUrl: null };
    const ip = await guardTemporalAddress(config, onProgress);
    const server = await timed('Temporal server', () =>
      startTemporalServer({ dir: join(config.stateDir, 'temporal'), ip, ui: true }),
    );
    closers.add('Temporal server', async () => {
      await server.stop();
      await unguard(ip);
    });
    deaths.push(server.died);
    return { temporalAddress: server.address, temporalUiUrl: server.uiUrl };
  };
  const store = async () => {
    if (config.mongodbUri) return { storeUri: config.mongodbUri };
    const server = await timed('store', () => startStoreServer(join(config.stateDir, 'store')));
    closers.add('store server', () => server.stop());
    deaths.push(server.died);
    return { storeUri: server.address };
  };
  const [first, second] = await allSettledOrThrow(temporal(), store());
  return { ...first, ...second, died: Promise.race([...deaths, new Promise<string>(() => {})]) };
}

/**
 * Returns an address that no other user of this machine reaches. A host with virtual machines requires it; on a
 * simulated host without root it is impossible, and reported.
 * @throws MayflyError temporal_unavailable
 */
async function guardTemporalAddress(
  { stateDir, hostKind }: Config,
  onProgress: (line: string) => void,
): Promise<string> {
  const ip = ownAddress(stateDir);
  try {
    await guardAddress(ip);
    return ip;
  } catch (error) {
    if (!(error instanceof ExecError)) throw error;
    const why = `Temporal cannot be closed to the other users of this machine: ${error.message}`;
    if (hostKind !== 'simulated') throw new MayflyError('temporal_unavailable', why, { cause: error });
    onProgress(`${why}; whoever has a login here is an admin`);
    return OPEN_ADDRESS;
  }
}

/** Reports the duration of each part of the start. */
export function progress(onProgress: (line: string) => void) {
  return async <T>(what: string, start: () => Promise<T>): Promise<T> => {
    const began = performance.now();
    const result = await start();
    onProgress(`${what}: ready in ${((performance.now() - began) / 1000).toFixed(1)} s`);
    return result;
  };
}
