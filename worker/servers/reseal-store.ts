import { MayflyError } from '../../model/errors.ts';
import { type Resealed, reseal } from '../../store/reseal.ts';
import type { Config } from '../config/config.ts';
import { installationKeys } from '../payloads/data-converter.ts';
import { withOneStoreServer } from './local-store.ts';

/**
 * Encrypts what is encrypted with an earlier key with the key that encrypts
 * now. The user of MONGODB_URI must be one that may change everything.
 * @throws MayflyError store_unavailable, payload_key_unusable
 */
export async function resealStore(config: Config): Promise<Resealed> {
  const keys = await installationKeys(config);
  return withOneStoreServer(config, async ({ mongodbUri }) => {
    if (mongodbUri !== undefined) return reseal(mongodbUri, keys);
    throw new MayflyError('store_unavailable', 'There is no store here; set MONGODB_URI to the one that is meant.');
  });
}
