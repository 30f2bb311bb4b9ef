import { join } from 'node:path';
import { allEnded } from '../../host/all-ended.ts';
import type { Closers } from '../config/closers.ts';
import type { Config } from '../config/config.ts';
import { freePort } from './server-process.ts';
import { startStoreServer } from './store-server.ts';
import { startTemporalServer } from './temporal-server.ts';

/** Where the two servers answer, whether they are ours or not. */
export interface Servers {
  temporalAddress: string;
  temporalUiUrl: string | null;
  storeUri: string;
  /** Resolves with a sentence when one of ours has ended by itself; never when none is ours. */
  died: Promise<string>;
}

/** Starts Temporal and the store, side by side, unless the environment names running ones. */
export async function ensureServers(
  config: Config,
  closers: Closers,
  onProgress: (line: string) => void,
): Promise<Servers> {
  const deaths: Promise<string>[] = [];
  const timed = progress(onProgress);
  const temporal = async () => {
    if (config.temporalAddress) return { temporalAddress: config.temporalAddress, temporalUiUrl: null };
    const uiPort = await freePort();
    const server = await timed('Temporal server', () =>
      startTemporalServer({ dir: join(config.stateDir, 'temporal'), uiPort }),
    );
    closers.add('Temporal server', () => server.stop());
    deaths.push(server.died);
    return { temporalAddress: server.address, temporalUiUrl: `http://127.0.0.1:${uiPort}` };
  };
  const store = async () => {
    if (config.mongodbUri) return { storeUri: config.mongodbUri };
    const server = await timed('store', () => startStoreServer(join(config.stateDir, 'store')));
    closers.add('store server', () => server.stop());
    deaths.push(server.died);
    return { storeUri: server.address };
  };
  const [first, second] = await allEnded(temporal(), store());
  return { ...first, ...second, died: Promise.race([...deaths, new Promise<string>(() => {})]) };
}

/** Says how long a part of the start took. */
export function progress(onProgress: (line: string) => void) {
  return async <T>(what: string, start: () => Promise<T>): Promise<T> => {
    const began = performance.now();
    const result = await start();
    onProgress(`${what}: ready in ${((performance.now() - began) / 1000).toFixed(1)} s`);
    return result;
  };
}
