import { join } from 'node:path';
import { entriesOf } from '../../host/os/directory.ts';
import type { AuditFault } from '../../store/audit/audit-queue.ts';
import type { Verification } from '../../store/audit/audit-verification.ts';
import type { Config } from '../config/config.ts';
import { auditKey } from '../config/secret-file.ts';
import { withPresentStore, withStore } from '../servers/local-store.ts';

/**
 * Verifies the chains of the sandboxes named, or of all: also of those whose record is gone. Needs the audit key, so it
 * runs where the control worker does.
 */
export async function verifyAudit(config: Config, ids: string[]): Promise<Map<string, Verification>> {
  const key = await auditKey(join(config.stateDir, 'control', 'audit.key'));
  return withStore(config, { auditKey: key }, async (store) => {
    if (ids.length === 0) return store.audit.verifyAll((await store.sandboxes.all()).map(({ id }) => id));
    const results = new Map<string, Verification>();
    for (const id of ids) results.set(id, await store.audit.verify(id));
    return results;
  });
}

/**
 * Chains of the installation that can't be continued; none on a machine that has no store and names none.
 * @throws MayflyError store_unavailable
 */
export async function findAuditFaults(config: Config): Promise<AuditFault[]> {
  if (!config.mongodbUri && (await entriesOf(join(config.stateDir, 'store'))) === null) return [];
  return withPresentStore(config, (store) => store.audit.faults());
}
