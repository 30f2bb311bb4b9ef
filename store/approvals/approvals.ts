import { type ApprovalRecord, approvalAt, approvalRecord } from '../../model/approvals/approval.ts';
import { instant } from '../../model/fields.ts';
import { isApprovalId } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { type DocumentOf, type Filter, recordRepositoryOf } from '../repository/repository.ts';
import type { Page } from '../sealed/page-cursor.ts';

type ApprovalDocument = DocumentOf<ApprovalRecord> & { changedAt: string };

/** An approval as it is since that time, by the clock of the process that changed it. ISO 8601. */
interface ChangedApproval {
  record: ApprovalRecord;
  changedAt: string;
}

interface ApprovalQuery {
  project: string;
  /** As it is now: what has expired is no longer waiting. `@default` all */
  state?: ApprovalRecord['state'];
  limit: number;
  cursor?: string | undefined;
}

/** What one change writes. */
type ApprovalChange = Pick<ApprovalRecord, 'state'> &
  Partial<Pick<ApprovalRecord, 'decidedBy' | 'decidedAt' | 'reason' | 'usedAt' | 'usedFor'>>;

const DAY_MS = 86_400_000;

/** What was asked for and may not be done without somebody's leave. Of two changes at once one is made. */
export class Approvals extends recordRepositoryOf({
  collection: 'approvals',
  noun: 'an approval',
  isId: isApprovalId,
  model: approvalRecord,
  internal: { changedAt: instant },
}) {
  /** @returns false when there is one of that id */
  async create(record: ApprovalRecord): Promise<boolean> {
    return this.insertRecord(record, { changedAt: nowText() });
  }

  /** The newest first. */
  list({ project, state, ...query }: ApprovalQuery): Promise<Page<ApprovalRecord>> {
    return this.page({ project, ...(state && this.#inState(state)) }, query, 'askedAt');
  }

  /** Those of a project that were asked for, decided, used or given back, or have expired, since that time; the oldest change first. */
  async changedSince(project: string, since: string, limit: number): Promise<ChangedApproval[]> {
    const expired = { ...this.#inState('expired'), expiresAt: { $gte: since, $lte: nowText() } };
    const find = (filter: Filter<ApprovalDocument>, by: 'changedAt' | 'expiresAt') =>
      this.documents({ project, ...filter }, { sort: { [by]: 1 }, limit });
    const [changed, ended] = await Promise.all([
      find({ changedAt: { $gte: since } }, 'changedAt'),
      find(expired, 'expiresAt'),
    ]);
    const isEnded = new Set(ended.map(({ _id }) => _id));
    const stillOpen = changed.filter(({ _id }) => !isEnded.has(_id));
    const changedAt = (at: 'changedAt' | 'expiresAt') => (one: ApprovalDocument) => {
      return { record: this.recordOf(one), changedAt: one[at] };
    };
    const changes = this.encryption.records(stillOpen, changedAt('changedAt'));
    return [...changes, ...this.encryption.records(ended, changedAt('expiresAt'))]
      .toSorted((a, b) => (a.changedAt < b.changedAt ? -1 : 1))
      .slice(0, limit);
  }

  /** Whether one is among the first so many of its project that wait. */
  async isAmong({ id, project }: Pick<ApprovalRecord, 'id' | 'project'>, atMost: number): Promise<boolean> {
    const filter = { project, ...this.#inState('awaiting-approval') };
    const first = await this.documents(filter, { sort: { askedAt: 1, _id: 1 }, limit: atMost, only: { _id: 1 } });
    return first.some(({ _id }) => _id === id);
  }

  /**
   * Changes one that is in a state, and has not expired unless it was used.
   * @returns as it is then; null when it is not in that state any more
   */
  async change(
    id: string,
    from: Pick<ApprovalRecord, 'state'> & { usedFor?: string },
    to: ApprovalChange,
  ): Promise<ApprovalRecord | null> {
    const as = from.state === 'used' ? {} : { expiresAt: { $gt: nowText() } };
    return this.setAndRead({ _id: id, ...from, ...as }, { ...to, changedAt: nowText() });
  }

  /** One that was not to be: there were too many already. @returns false: somebody has decided it meanwhile */
  async remove(id: string): Promise<boolean> {
    return this.deleteOne({ _id: id, state: 'awaiting-approval' });
  }

  /** Removes those that expired long ago, and says how many they were. */
  prune(): Promise<number> {
    const before = new Date(Date.now() - LIMITS.approvals.keptDays * DAY_MS).toISOString();
    return this.deleteAll({ expiresAt: { $lt: before } });
  }

  #inState(state: ApprovalRecord['state']): Filter<ApprovalDocument> {
    const now = nowText();
    if (state === 'expired') return { state: { $in: ['awaiting-approval', 'approved'] }, expiresAt: { $lte: now } };
    if (state === 'awaiting-approval' || state === 'approved') return { state, expiresAt: { $gt: now } };
    return { state };
  }

  protected override readonly recordOf = ({ _id: id, changedAt: _at, ...record }: ApprovalDocument): ApprovalRecord =>
    approvalAt({ id, ...record }, Date.now());
}

function nowText(): string {
  return new Date().toISOString();
}
