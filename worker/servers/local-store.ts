import { join } from 'node:path';
import { entriesOf } from '../../host/os/directory.ts';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { connectStore, type Store, type StoreOptions } from '../../store/connect.ts';
import { Closers } from '../config/closers.ts';
import type { Config } from '../config/config.ts';
import { keysHere } from '../payloads/data-converter.ts';
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
    const store = await connectStore(await storeUri(config, closers), options);
    closers.add('store', () => store.close());
    return await use(store);
  } finally {
    await closers.close();
  }
}

/**
 * For what opens the store several times: one of our own is started once, and named in the config that `use` is given. Where
 * there is none, or it does not start, the config is as it was, and whoever opens the store is told why.
 */
export async function withOneStoreServer<T>(config: Config, use: (config: Config) => Promise<T>): Promise<T> {
  const closers = new Closers();
  try {
    return await use({ ...config, mongodbUri: await presentUri(config, closers) });
  } finally {
    await closers.close();
  }
}

async function presentUri(config: Config, closers: Closers): Promise<Config['mongodbUri']> {
  if ((await entriesOf(join(config.stateDir, 'store'))) === null) return config.mongodbUri;
  try {
    return await storeUri(config, closers);
  } catch (error) {
    if (isMayflyError(error, 'store_unavailable')) return config.mongodbUri;
    throw error;
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
  return withStore(config, await keysHere(config), use);
}

/** Of the store that is named, of the one that runs, or of one that is started. */
async function storeUri({ mongodbUri, stateDir }: Config, closers: Closers): Promise<string> {
  if (mongodbUri) return mongodbUri;
  const running = await recallServers(stateDir);
  if (running && (await answers(running.storeUri))) return running.storeUri;
  const server = await startStoreServer(join(stateDir, 'store'));
  closers.add('store server', () => server.stop());
  return server.address;
}

async function answers(uri: string): Promise<boolean> {
  try {
    const store = await connectStore(uri);
    await store.close();
    return true;
  } catch (error) {
    if (isMayflyError(error, 'store_unavailable')) return false;
    throw error;
  }
}
