import { z } from 'zod';
import type { CountRule } from '../../model/approvals/policy.ts';
import { MayflyError } from '../../model/errors.ts';
import type { Project } from '../../model/project.ts';
import {
  type Admissions as Admitted,
  addAdmissions,
  admissions,
  type Counted,
  checkCreateLimits,
  getUsage,
  hasCreateLimits,
  type LivingUsage,
  type ProjectUsage,
} from '../../model/project-limits.ts';
import { GroupCommit } from '../mongo/group-commit.ts';
import { storeTime } from '../mongo/store-clock.ts';
import { repositoryOf } from '../repository/repository.ts';
import { filterEnded, listLivingUsage } from '../sandboxes/counted-sandboxes.ts';

/** Creates of one project, admitted all or none. */
interface AdmissionRequest {
  limits: Project['limits'];
  wanted: readonly Counted[];
  /** Reports whether a workflow of the sandbox runs. */
  isOpen: (sandboxId: string) => Promise<boolean>;
  countRule: CountRule | undefined;
}

/**
 * Age from which a pending create counts only while its workflow runs, ms: its process has started it by then, or never
 * will.
 */
const PENDING_MS = 600_000;

const NONE: Admitted = { pending: [], creates: [] };

/**
 * Creates admitted by the quotas of a project, `_id` = project. Usage counts living sandboxes by their records, and
 * admitted creates without a record. The latter are in one document with optimistic locking, so that concurrent creates
 * of any process count each other.
 */
export class Admissions extends repositoryOf({
  collection: 'admissions',
  noun: 'a project',
  /** `version` is raised by every change; a writer with a stale one reads again. */
  model: admissions.extend({ version: z.int() }),
}) {
  readonly #queues = new Map<string, GroupCommit<AdmissionRequest, MayflyError | null>>();

  /**
   * Admits creates before any of them starts. Idempotent.
   * @throws MayflyError project_quota_exceeded, quota_exceeded; policy_denied when the count rule forbids them
   */
  async admit(
    { id, limits }: Project,
    wanted: readonly Counted[],
    isOpen: AdmissionRequest['isOpen'],
    countRule?: CountRule,
  ): Promise<void> {
    if (!hasCreateLimits(limits) && !countRule) return;
    const queue = this.#queues.get(id) ?? new GroupCommit((wishes: AdmissionRequest[]) => this.#admitAll(id, wishes));
    this.#queues.set(id, queue);
    const refusal = await queue.add({ limits, wanted, isOpen, countRule });
    if (refusal) throw refusal;
  }

  /** Releases creates of which none has started. */
  async release({ id }: Pick<Project, 'id'>, sandboxIds: readonly string[]): Promise<void> {
    const isKept = ({ sandboxId }: Counted) => !sandboxIds.includes(sandboxId);
    await this.#change(id, ({ pending, ...rest }) => ({ ...rest, pending: pending.filter(isKept) }));
  }

  async useOf(project: string): Promise<ProjectUsage> {
    const { admitted, living, now } = await this.#read(project, () => Promise.resolve(true));
    return getUsage(admitted, living, now);
  }

  async #admitAll(project: string, wishes: AdmissionRequest[]): Promise<(MayflyError | null)[]> {
    for (;;) {
      const isOpen = (sandboxId: string) => wishes[0]?.isOpen(sandboxId) ?? Promise.resolve(true);
      const { admitted, living, now, version } = await this.#read(project, isOpen);
      const results: (MayflyError | null)[] = [];
      let next = admitted;
      for (const { limits, wanted, countRule } of wishes) {
        const fresh = wanted.filter(({ sandboxId }) => !isAlreadyCounted(sandboxId, next, living));
        const excess = checkCreateLimits(limits, { admissions: next, living, now }, fresh);
        const { sandboxes } = getUsage(next, living, now);
        const refusal = excess
          ? toQuotaError(project, excess)
          : fresh.length > 0 && countRule
            ? checkCountRule(countRule, sandboxes + fresh.length)
            : null;
        results.push(refusal);
        if (!refusal && fresh.length > 0) next = addAdmissions(next, fresh, now);
      }
      if (next === admitted || (await this.writeVersion(project, version, next))) return results;
    }
  }

  /** Reads the document before the records: a create recorded in between appears in both, never in neither. */
  async #read(project: string, isOpen: AdmissionRequest['isOpen']) {
    const [document, time] = await Promise.all([this.findById(project), storeTime(this.connection)]);
    const now = time.getTime();
    const { version, pending, creates } = document ?? { version: 0, ...NONE };
    const living = await listLivingUsage(this.connection, project);
    const recorded = new Set(living.map(({ sandboxId }) => sandboxId));
    const unrecorded = pending.filter(({ sandboxId }) => !recorded.has(sandboxId));
    const ended = await filterEnded(
      this.connection,
      unrecorded.map(({ sandboxId }) => sandboxId),
    );
    const left: typeof pending = [];
    for (const one of unrecorded) {
      if (ended.has(one.sandboxId)) continue;
      if (now - one.admittedAt < PENDING_MS || (await isOpen(one.sandboxId))) left.push(one);
    }
    return { admitted: { pending: left, creates }, living, now, version };
  }

  async #change(project: string, change: (admitted: Admitted) => Admitted): Promise<void> {
    for (;;) {
      const document = await this.findById(project);
      if (!document) return;
      if (await this.writeVersion(project, document.version, change(document))) return;
    }
  }
}

function isAlreadyCounted(id: string, { pending }: Admitted, living: readonly LivingUsage[]): boolean {
  return [...pending, ...living].some(({ sandboxId }) => sandboxId === id);
}

function checkCountRule({ sandboxes, rules }: CountRule, count: number): MayflyError | null {
  if (count <= sandboxes) return null;
  const why = `By ${rules.join(', ')} of the policy of the project: it would have ${count} sandboxes`;
  return new MayflyError('policy_denied', `${why}, with those that others begin meanwhile. Ask once more.`);
}

function toQuotaError(
  project: string,
  { message, retryAfterSeconds }: NonNullable<ReturnType<typeof checkCreateLimits>>,
) {
  const text = `The project ${project} ${message}.`;
  if (retryAfterSeconds === null) return new MayflyError('quota_exceeded', text);
  return new MayflyError('project_quota_exceeded', text, { retryAfterSeconds });
}
