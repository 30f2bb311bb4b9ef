import mongoose from 'mongoose';
import type { Store, StoreOptions } from '../../store/connect.ts';
import { Closers } from '../../worker/config/closers.ts';
import { openStore } from './open-store.ts';
import { startStoreServer } from './store-server.ts';
import { useOpened } from './use-opened.ts';

export interface OpenedStore {
  store: Store;
  /** Direct connection, without Mayfly's code. */
  db: mongoose.Connection;
  uri: string;
}

/** Opens a store for the tests of a file. @param take receives it before they start */
export function useStore(take: (opened: OpenedStore) => unknown, options: StoreOptions = {}): void {
  const closers = new Closers();
  useOpened(
    async () => {
      const server = await startStoreServer();
      closers.add('store server', () => server.stop());
      const { uri } = server;
      const store = await openStore(uri, options);
      closers.add('store', () => store.close());
      const db = await mongoose.createConnection(uri).asPromise();
      closers.add('connection', () => db.close());
      await take({ store, db, uri });
    },
    () => closers.close(),
  );
}
