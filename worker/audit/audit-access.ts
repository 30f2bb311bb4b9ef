import { join } from 'node:path';
import type { StoreOptions } from '../../store/connect.ts';
import type { Config } from '../config/config.ts';
import { auditKey } from '../config/secret-file.ts';
import { loadLocalKeys } from '../payloads/data-converter.ts';
import { AnchorFiles } from './anchor-files.ts';

/** Like {@link auditAccess}, for commands of the CLI. @throws MayflyError internal, payload_key_unusable */
export async function cliAuditAccess(config: Pick<Config, 'payloadKeyFile' | 'stateDir'>): Promise<StoreOptions> {
  return { ...(await auditAccess(config.stateDir)), ...(await loadLocalKeys(config)) };
}

/**
 * Opens the audit key and its anchor, to append to the audit trail or to verify it.
 * @param stateDir of the control worker
 * @throws MayflyError internal when others may read the key, or when it is not a key
 */
export async function auditAccess(stateDir: string): Promise<Pick<StoreOptions, 'auditKey' | 'auditAnchor'>> {
  const folder = join(stateDir, 'control');
  return { auditKey: await auditKey(join(folder, 'audit.key')), auditAnchor: new AnchorFiles(join(folder, 'anchor')) };
}
