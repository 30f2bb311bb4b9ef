import { MayflyError } from '../../model/errors.ts';
import { copyStore } from '../../store/copy.ts';
import { type ReencryptionResult, reencrypt } from '../../store/reseal.ts';
import type { Config } from '../config/config.ts';
import { installationKeys } from '../payloads/data-converter.ts';
import { InstallationLock } from './installation-lock.ts';
import { withOneStoreServer } from './local-store.ts';

/**
 * Copies the stopped store of this machine's `mayfly up` into the empty one that MONGODB_URI names.
 * @returns number of documents
 * @throws MayflyError store_unavailable; state_folder_in_use while `mayfly up` runs
 */
export async function copyOwnStore({ mongodbUri: to, ...config }: Config): Promise<number> {
  if (to === undefined) throw new MayflyError('store_unavailable', 'MONGODB_URI does not name the store to copy to.');
  const lock = await InstallationLock.take(config.stateDir);
  try {
    return await withOneStoreServer({ ...config, mongodbUri: undefined }, async ({ mongodbUri: from }) => {
      if (from !== undefined) return copyStore(from, to);
      throw new MayflyError('store_unavailable', `There is no store of \`mayfly up\` in ${config.stateDir}.`);
    });
  } finally {
    await lock.release();
  }
}

/**
 * Re-encrypts documents of earlier keys with the current key. The user of MONGODB_URI must have write access to
 * everything.
 * @throws MayflyError store_unavailable, payload_key_unusable
 */
export async function reencryptStore(config: Config): Promise<ReencryptionResult> {
  const keys = await installationKeys(config);
  return withOneStoreServer(config, async ({ mongodbUri }) => {
    if (mongodbUri !== undefined) return reencrypt(mongodbUri, keys);
    throw new MayflyError('store_unavailable', 'There is no store here; set MONGODB_URI to the one that is meant.');
  });
}
