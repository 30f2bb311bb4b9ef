import { join } from 'node:path';
import { entriesOf } from '../../host/os/directory.ts';
import { MayflyError } from '../../model/errors.ts';
import { connectStore, type Store, type StoreOptions } from '../../store/connect.ts';
import { Closers } from '../config/closers.ts';
import type { Config } from '../config/config.ts';
import { recallServers } from './remembered-servers.ts';
import { startStoreServer } from './store-server.ts';

/**
 * Lends the store of this installation to a command: the one MONGODB_URI names, the one of a running `mayfly up`, or
 * else our own, started for as long as it takes.
 */
export async function withStore<T>(
  config: Config,
  options: StoreOptions,
  use: (store: Store) => Promise<T>,
): Promise<T> {
  const closers = new Closers();
  try {
    const store = await openStore(config, options, closers);
    closers.add('store', () => store.close());
    return await use(store);
  } finally {
    await closers.close();
  }
}

/**
 * As {@link withStore}, for whoever asks what is alive: a new store would say that nothing is, and all on the machine would
 * be residue.
 * @throws MayflyError store_unavailable when there never was a store here and none is named
 */
export async function withPresentStore<T>(config: Config, use: (store: Store) => Promise<T>): Promise<T> {
  const own = join(config.stateDir, 'store');
  if (!config.mongodbUri && (await entriesOf(own)) === null) {
    const why = `There is no store in ${own} to ask which sandboxes are alive`;
    throw new MayflyError('store_unavailable', `${why}; set MONGODB_URI to the one that this host's worker uses.`);
  }
  return withStore(config, {}, use);
}

async function openStore(config: Config, options: StoreOptions, closers: Closers): Promise<Store> {
  if (config.mongodbUri) return connectStore(config.mongodbUri, options);
  const running = await recallServers(config.stateDir);
  if (running) {
    try {
      return await connectStore(running.storeUri, options);
    } catch (error) {
      if (!(error instanceof MayflyError && error.code === 'store_unavailable')) throw error;
    }
  }
  const server = await startStoreServer(join(config.stateDir, 'store'));
  closers.add('store server', () => server.stop());
  return connectStore(server.address, options);
}
