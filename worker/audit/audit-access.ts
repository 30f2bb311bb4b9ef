import { join } from 'node:path';
import type { StoreOptions } from '../../store/connect.ts';
import type { Config } from '../config/config.ts';
import { auditKey } from '../config/secret-file.ts';
import { keysHere } from '../payloads/data-converter.ts';
import { AnchorFiles } from './anchor-files.ts';

/** As {@link auditAccess}, for a command of the command line. @throws MayflyError internal, payload_key_unusable */
export async function auditReading(config: Pick<Config, 'payloadKeyFile' | 'stateDir'>): Promise<StoreOptions> {
  return { ...(await auditAccess(config.stateDir)), ...(await keysHere(config)) };
}

/**
 * What opens the audit trail for whoever appends to it or verifies it: the key, and the anchor beside it.
 * @param stateDir of the control worker
 * @throws MayflyError internal when others may read the key, or when it is not a key
 */
export async function auditAccess(stateDir: string): Promise<Pick<StoreOptions, 'auditKey' | 'auditAnchor'>> {
  const folder = join(stateDir, 'control');
  return { auditKey: await auditKey(join(folder, 'audit.key')), auditAnchor: new AnchorFiles(join(folder, 'anchor')) };
}
