import { join } from 'node:path';
import { entriesOf } from '../../host/os/directory.ts';
import type { AuditFault } from '../../store/audit/audit-queue.ts';
import type { Verification } from '../../store/audit/audit-verification.ts';
import type { Store } from '../../store/connect.ts';
import { keyChanges, type LogVerification, type RegisterProblem } from '../../store/register/register-walk.ts';
import { cliAuditAccess } from '../audit/audit-access.ts';
import { expectedChains } from '../audit/expected-chains.ts';
import type { Config } from '../config/config.ts';
import { withPresentStore, withStore } from '../servers/local-store.ts';

/** Result of verifying the transparency log. */
export interface RegisterVerification {
  ok: boolean;
  /** Number of genuine entries. */
  entries: number;
  problems: RegisterProblem[];
  /** Findings that break nothing. */
  notes: string[];
}

export interface AuditVerification {
  register: RegisterVerification;
  /** By sandbox or source. */
  chains: Map<string, Verification>;
}

/**
 * Verifies the transparency log, and the chains of the named sandboxes, or of all: also of those without a record.
 * Needs the audit key of the control worker.
 */
export async function verifyAudit(config: Config, ids: string[]): Promise<AuditVerification> {
  return withStore(config, await cliAuditAccess(config), async (store) => {
    const expected = ids.length === 0 ? await expectedChains(store) : null;
    const walk = await store.audit.verifyRegister();
    const register = await verifyKeys(walk, store);
    if (expected) return { register, chains: await store.audit.verifyAll(expected, walk) };
    const chains = new Map<string, Verification>();
    for (const id of ids) chains.set(id, await store.audit.verify(id, walk));
    return { register, chains };
  });
}

/** Records missing entries of the transparency log as lost, with the reason. @returns number of gaps */
export async function acceptLoss(config: Config, reason: string): Promise<number> {
  return withStore(config, await cliAuditAccess(config), ({ audit }) => audit.acceptLoss(reason));
}

/** Compares the present API keys with those in the transparency log. */
export async function verifyKeys(
  walk: LogVerification,
  { apiKeys }: Pick<Store, 'apiKeys'>,
): Promise<RegisterVerification> {
  const { entries, notes } = walk;
  const present = new Map((await apiKeys.list()).map((key) => [key.id, key]));
  const changed = [...walk.keys].flatMap(([id, before]): RegisterProblem[] => {
    const now = present.get(id);
    const changes = now ? keyChanges(before, now) : ['is gone'];
    return changes.map((change) => ({ number: null, kind: 'key', detail: `API key ${id} ${change}` }));
  });
  const problems = [...walk.problems, ...changed];
  return { ok: problems.length === 0, entries, problems, notes };
}

/**
 * Finds chains of the installation that cannot be continued; none on a machine that has no store and configures none.
 * @throws MayflyError store_unavailable
 */
export async function findAuditFaults(config: Config): Promise<AuditFault[]> {
  if (!config.mongodbUri && (await entriesOf(join(config.stateDir, 'store'))) === null) return [];
  return withPresentStore(config, (store) => store.audit.faults());
}
