import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { isNotFound } from '../../host/os/directory.ts';
import { SANDBOX_STATES } from '../../model/sandbox/sandbox.ts';
import { connectStore } from '../../store/connect.ts';
import type { Config } from '../config/config.ts';
import { auditKey } from '../config/secret-file.ts';
import { type Check, fault, fine, type Probe } from './check.ts';

/** Chains that are verified: those of the living, and of the latest others up to so many. */
const MOST = 300;

/** The audit trail, where this is the machine that has its key. `mayfly audit verify` verifies all of it. */
export function auditProbe({ stateDir, mongodbUri }: Config): Probe {
  const path = join(stateDir, 'control', 'audit.key');
  return {
    name: 'audit',
    remedy: 'mayfly audit verify',
    look: async (): Promise<Check[]> => {
      if (mongodbUri === undefined || !(await isThere(path))) return [];
      const store = await connectStore(mongodbUri, { auditKey: await auditKey(path) });
      try {
        const { items } = await store.sandboxes.list({ limit: MOST });
        const alive = await store.sandboxes.all(
          SANDBOX_STATES.filter((state) => state !== 'destroyed' && state !== 'failed'),
        );
        const ids = [...new Set([...alive, ...items].map(({ id }) => id))];
        const found: Check[] = [];
        for (const id of ids) {
          const { ok, problems } = await store.audit.verify(id);
          if (ok) continue;
          const [first] = problems.filter(({ kind }) => kind !== 'time-went-back');
          const what = `entry ${first?.seq ?? '-'} ${first?.kind}: ${first?.detail}`;
          const remedy = `mayfly audit verify ${id}; keep a copy of the collection \`audit\` as evidence before you change it.`;
          found.push(fault(`audit of ${id}`, what, remedy));
        }
        return found.length > 0 ? found : [fine('audit', `the chains of ${ids.length} sandboxes are whole`)];
      } finally {
        await store.close();
      }
    },
  };
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
