import { MayflyError } from '../../model/errors.ts';
import { getShare } from '../../model/pools/pool.ts';
import { NO_PROJECT } from '../../model/project.ts';
import type { Size } from '../../model/project-limits.ts';
import type { StorageAdmission } from '../snapshot/storage-admission.ts';
import type { SagaDeps } from '../step/saga-deps.ts';

interface Deps extends SagaDeps {
  admission: StorageAdmission;
}

interface SharedMember {
  sandboxId: string;
  pool: string;
  /** Project that claims it. */
  project: string;
}

/** Activities that count claimed members of shared pools in a project. */
export function createSharedClaimActivities({ store, reconciliation, admission }: Deps) {
  async function claimer(id: string) {
    const project = await store.projects.lately(id);
    if (project) return project;
    throw new MayflyError('project_not_found', `There is no project ${id}.`);
  }

  return {
    /**
     * Counts a member in the quotas of the claiming project, before the claim. Idempotent.
     * @throws MayflyError project_quota_exceeded, quota_exceeded, pool_not_found, project_not_found
     */
    async admitClaim({
      sandboxId,
      pool: name,
      size,
      apiKeyId,
      ...of
    }: SharedMember & { size: Size; apiKeyId: string }) {
      const [project, pool] = await Promise.all([claimer(of.project), store.pools.get({ project: NO_PROJECT, name })]);
      if (!pool) throw new MayflyError('pool_not_found', `There is no pool ${name}.`);
      if (!(await store.poolShares.take(getShare(pool, project.id), sandboxId))) {
        const why = `The project ${project.id} has had its share of the pool ${name} until that is filled again.`;
        throw new MayflyError('project_quota_exceeded', why, { retryAfterSeconds: 1 });
      }
      await admission.sandbox(sandboxId, apiKeyId);
      await store.admissions.admit(project, [{ sandboxId, ...size }], (id) => reconciliation.sandboxes.isOpen(id));
    },

    /** Releases the quotas of a failed claim. */
    async releaseClaim({ sandboxId, pool: name, project: id }: SharedMember): Promise<void> {
      const project = (await store.projects.known()).get(id);
      await store.poolShares.giveBack({ pool: { project: NO_PROJECT, name }, project: id }, sandboxId);
      if (project) await store.admissions.release(project, [sandboxId]);
    },
  };
}
