import { join } from 'node:path';
import { isThere } from '../../host/os/directory.ts';
import { OPEN_STATES } from '../../model/sandbox/sandbox-state.ts';
import { connectStore } from '../../store/connect.ts';
import { cliAuditAccess } from '../audit/audit-access.ts';
import type { Config } from '../config/config.ts';
import { type RegisterVerification, verifyKeys } from '../upkeep/audit.ts';
import { type Check, fault, type Probe, passed } from './check.ts';

/** Maximum number of latest sandboxes whose chains are verified, besides those of all living ones. */
const MAX_VERIFIED = 300;
const REGISTER = 'register of the audit';

/** Verifies the audit trail on the machine that has its key. `mayfly audit verify` verifies all of it. */
export function auditProbe(config: Config): Probe {
  const path = join(config.stateDir, 'control', 'audit.key');
  return {
    name: 'audit',
    remedy: 'mayfly audit verify',
    look: async (): Promise<Check[]> => {
      if (config.mongodbUri === undefined || !(await isThere(path))) return [];
      const store = await connectStore(config.mongodbUri, await cliAuditAccess(config));
      try {
        const { items } = await store.sandboxes.list({ limit: MAX_VERIFIED });
        const alive = await store.sandboxes.all(OPEN_STATES);
        const ids = [...new Set([...alive, ...items].map(({ id }) => id))];
        const walk = await store.audit.verifyRegister();
        const found: Check[] = [];
        for (const id of ids) {
          const { ok, problems } = await store.audit.verify(id, walk);
          if (ok) continue;
          const [first] = problems.filter(({ kind }) => kind !== 'time-went-back');
          const what = `entry ${first?.seq ?? '-'} ${first?.kind}: ${first?.detail}`;
          const remedy = `mayfly audit verify ${id}; keep a copy of the collection \`audit\` as evidence before you change it.`;
          found.push(fault(`audit of ${id}`, what, remedy));
        }
        const chains = found.length > 0 ? found : [passed('audit', `the chains of ${ids.length} sandboxes are whole`)];
        return [...chains, registerCheck(await verifyKeys(walk, store))];
      } finally {
        await store.close();
      }
    },
  };
}

/** Reports the transparency log and its anchor, by the first of its problems. */
function registerCheck({ entries, problems, notes }: RegisterVerification): Check {
  const [first] = problems;
  if (first) {
    const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
    const where = first.number === null ? '' : `entry ${first.number}: `;
    const remedy = 'mayfly audit verify; docs/backup-upgrade.md, "Repair the audit"';
    return fault(REGISTER, `${where}${first.detail}${more}`, remedy);
  }
  const told = notes.length > 0 ? `; ${notes.join('; ')}` : '';
  return passed(REGISTER, `${entries} entries, anchored${told}`);
}
