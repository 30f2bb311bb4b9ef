import type { Connection } from 'mongoose';
import type { LivingUsage } from '../../model/project-limits.ts';
import { withStoreErrors } from '../mongo/failure.ts';
import type { SandboxDocument } from './sandbox-document.ts';

/** Returns the living sandboxes of a project as they count in its quotas; one without a size counts by its spec. */
export async function listLivingUsage(connection: Connection, project: string): Promise<LivingUsage[]> {
  const projection = { size: 1, 'spec.cpus': 1, 'spec.memoryMib': 1, expiresAt: 1 } as const;
  const found = await withStoreErrors('count the sandboxes of a project', () =>
    connection.collection<SandboxDocument>('sandboxes').find({ project }, { projection }).toArray(),
  );
  return found.map(({ _id: sandboxId, size, spec, expiresAt }) => {
    const { cpus, memoryMib } = size ?? { cpus: spec.cpus ?? 1, memoryMib: spec.memoryMib ?? 0 };
    return { sandboxId, cpus, memoryMib, expiresAt };
  });
}

export async function filterEnded(connection: Connection, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const found = await withStoreErrors('look for sandboxes that have ended', () =>
    connection
      .collection<SandboxDocument>('endedSandboxes')
      .find({ _id: { $in: [...ids] } }, { projection: { _id: 1 } })
      .toArray(),
  );
  return new Set(found.map(({ _id }) => _id));
}
