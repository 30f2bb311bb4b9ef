import { createHash } from 'node:crypto';
import { MayflyError } from '../../model/errors.ts';
import type { HostRecord } from '../../model/host.ts';
import { ID_BYTES, sandboxIdFrom } from '../../model/ids.ts';
import type { PoolRecord } from '../../model/pools/pool.ts';
import { isShared, type MemberInput } from '../../model/pools/pool-saga.ts';
import { canUseSource, type Project } from '../../model/project.ts';
import { NO_LIMITS, type ProjectLimits } from '../../model/project-limits.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { getSourceSize, selectHostsWithSameContent } from '../../model/source-content.ts';
import type { StorageAdmission } from '../snapshot/storage-admission.ts';
import type { SagaDeps } from '../step/saga-deps.ts';
import { liveHosts, requireHolding } from './live-hosts.ts';

interface MemberDeps extends SagaDeps {
  admission: StorageAdmission;
}

/** Outcome of a member's create: its failure, ready, or retired before it was ready. */
type MemberOutcome = Pick<SandboxFailure, 'code' | 'message'> | 'retired' | 'warm';

export function createMemberActivities({ store, reconciliation, admission }: MemberDeps) {
  return {
    /**
     * Returns the input of a member; the seed determines its id.
     * @throws MayflyError project_not_found, forbidden, no_host, source_not_found, source_differs,
     * project_quota_exceeded, quota_exceeded
     */
    async memberInput({ pool, seed }: { pool: PoolRecord; seed: string }): Promise<MemberInput> {
      const { project: projectId, source, createdBy } = pool;
      const sandboxId = sandboxIdFrom(createHash('sha256').update(seed).digest().subarray(0, ID_BYTES));
      const projects = await store.projects.known();
      const project = isShared(pool) ? sharedPoolProject(pool) : projects.get(projectId);
      if (!project || project.deletedAt !== null) {
        throw new MayflyError('project_not_found', `There is no project ${projectId}.`);
      }
      if (!canUseSource(project, source, (id) => projects.has(id))) {
        const who = isShared(pool) ? 'A pool for all projects' : `The project ${projectId}`;
        throw new MayflyError('source_not_found', `${who} may not use ${JSON.stringify(source)}.`);
      }
      const hosts = requireHolding(await liveHosts(store), source);
      const { hosts: proposed, content } = selectHostsWithSameContent(hosts, source);
      const size = getSourceSize(source, hosts, pool);
      if (!isShared(pool)) await admission.sandbox(sandboxId, createdBy.apiKeyId);
      const own = { ...project, limits: limitsOfMembers(project.limits) };
      await store.admissions.admit(own, [{ sandboxId, ...size }], (id) => reconciliation.sandboxes.isOpen(id));
      return { sandboxId, size, hosts: proposed, content: content ?? contentOn(hosts, proposed[0]?.hostId, source) };
    },

    /** Returns the outcome of a member's create; null while it runs. */
    async readMemberOutcome({ sandboxId }: { sandboxId: string }): Promise<MemberOutcome | null> {
      const found = await store.sandboxes.get(sandboxId);
      if (!found || !(found.pool?.warmAt || isFinal(found.state))) return null;
      const { state, failure, stopReason } = found;
      if (!isFinal(state)) return 'warm';
      if (failure === null || stopReason === 'retired') return 'retired';
      return { code: failure.code, message: `${failure.step}: ${failure.message}` };
    },
  };
}

/** Returns the project of a shared pool's unclaimed members: without limits, and with sources open to all projects. */
function sharedPoolProject({ project: id, createdAt }: PoolRecord): Project {
  return { id, sources: null, limits: NO_LIMITS, createdAt, deletedAt: null };
}

/** Reserves half of the creates per minute for callers: that rate is the only limit that an eviction can't free. */
function limitsOfMembers({ createsPerMinute, ...rest }: ProjectLimits): ProjectLimits {
  return { ...rest, createsPerMinute: createsPerMinute === null ? null : Math.ceil(createsPerMinute / 2) };
}

function contentOn(hosts: readonly HostRecord[], hostId: string | undefined, source: string): string | null {
  const host = hosts.find(({ id }) => id === hostId);
  return host?.sources.find(({ name }) => name === source)?.content ?? null;
}
