import { isThere } from '../../host/os/directory.ts';
import type { StoreOptions } from '../../store/connect.ts';
import type { Config } from '../config/config.ts';
import { installationKeys, payloadKeyPath } from './data-converter.ts';

/**
 * What opens the store for a command of the command line: the keys of the installation, where this machine has them. Without
 * them it can be asked for what is not sealed.
 * @throws MayflyError payload_key_unusable when they are there and cannot be used
 */
export async function keysHere(
  config: Pick<Config, 'payloadKeyFile' | 'stateDir'>,
): Promise<Pick<StoreOptions, 'keys'>> {
  return (await isThere(payloadKeyPath(config))) ? { keys: await installationKeys(config) } : {};
}
