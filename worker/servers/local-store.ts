import { join } from 'node:path';
import { entriesOf } from '../../host/os/directory.ts';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { connectStore, type Store, type StoreOptions } from '../../store/connect.ts';
import { Closers } from '../config/closers.ts';
import type { Config } from '../config/config.ts';
import { loadLocalKeys } from '../payloads/data-converter.ts';
import { loadServerAddresses } from './remembered-servers.ts';
import { startStoreServer } from './store-server.ts';

/**
 * Runs a command with this installation's store: that of MONGODB_URI, of a running `mayfly up`, or else Mayfly's own,
 * started for the command.
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
 * Starts Mayfly's own store once for several connections, and names it in the config that `use` gets. When there is
 * none, or it does not start, the config stays as it was, and each connection fails with the reason.
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
 * Like {@link withStore}, for commands that compare with living sandboxes: in a new store none lives, so everything on
 * the machine would be residue.
 * @throws MayflyError store_unavailable when there never was a store here and none is configured
 */
export async function withPresentStore<T>(config: Config, use: (store: Store) => Promise<T>): Promise<T> {
  const own = join(config.stateDir, 'store');
  if (!config.mongodbUri && (await entriesOf(own)) === null) {
    const why = `There is no store in ${own} to ask which sandboxes are alive`;
    throw new MayflyError('store_unavailable', `${why}; set MONGODB_URI to the one that this host's worker uses.`);
  }
  return withStore(config, await loadLocalKeys(config), use);
}

/** Returns the URI of the configured store, the running one, or one that it starts. */
async function storeUri({ mongodbUri, stateDir }: Config, closers: Closers): Promise<string> {
  if (mongodbUri) return mongodbUri;
  const running = await loadServerAddresses(stateDir);
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
