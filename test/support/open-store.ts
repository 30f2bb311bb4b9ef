import { connectStore, type Store, type StoreOptions } from '../../store/connect.ts';
import type { StoreKeys } from '../../store/sealed/seal.ts';

/** Keys of the installation in tests of the store. */
export const STORE_KEYS: StoreKeys = [{ id: '00112233aabbccdd', key: new Uint8Array(32).fill(5) }];

/** Opens a store as the processes of an installation do. */
export function openStore(uri: string, options: StoreOptions = {}): Promise<Store> {
  return connectStore(uri, { keys: STORE_KEYS, isProcess: true, ...options });
}
