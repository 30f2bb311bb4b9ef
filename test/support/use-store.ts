import { afterAll, beforeAll } from 'vitest';
import type { Store } from '../../store/connect.ts';
import { openStore } from './open-store.ts';
import { type StoreServer, startStoreServer } from './store-server.ts';

/**
 * A store of its own for the tests of a file, and nothing of it after them.
 * @param take is given it before they begin
 */
export function useStore(take: (store: Store) => void): void {
  let server: StoreServer | undefined;
  let store: Store | undefined;
  beforeAll(async () => {
    server = await startStoreServer();
    store = await openStore(server.uri);
    take(store);
  });
  afterAll(async () => {
    await store?.close();
    await server?.stop();
  });
}
