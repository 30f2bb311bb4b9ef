import { join } from 'node:path';
import { connectStore, type Store } from '../../store/connect.ts';
import { cliAuditAccess } from '../../worker/audit/audit-access.ts';
import type { Closers } from '../../worker/config/closers.ts';
import { type Config, readConfig } from '../../worker/config/config.ts';
import { auditKey } from '../../worker/config/secret-file.ts';
import { installationKeys } from '../../worker/payloads/data-converter.ts';
import { temporaryState } from '../host/temporary-state.ts';
import { record } from '../store/support.ts';
import { startStoreServer } from '../support/store-server.ts';

/**
 * Opens a store with one sandbox's record, as the control worker of a new state folder has it, whose register is
 * started.
 */
export async function auditedStore(closers: Closers): Promise<{ config: Config; key: Uint8Array; store: Store }> {
  const { state, remove } = await temporaryState();
  closers.add('state folder', remove);
  const server = await startStoreServer();
  closers.add('store server', () => server.stop());
  const config = readConfig({ MAYFLY_STATE_DIR: state.root, MONGODB_URI: server.uri });
  const key = await auditKey(join(state.root, 'control', 'audit.key'));
  await installationKeys(config, true);
  const store = await connectStore(server.uri, await cliAuditAccess(config));
  closers.add('store', () => store.close());
  await store.sandboxes.create(record(1));
  return { config, key, store };
}
