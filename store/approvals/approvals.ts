import { type ApprovalRecord, approvalRecord, getApprovalAsOf } from '../../model/approvals/approval.ts';
import { instant } from '../../model/fields.ts';
import { isApprovalId } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { type DocumentOf, type Filter, recordRepositoryOf } from '../repository/repository.ts';
import type { Page } from '../sealed/page-cursor.ts';

type ApprovalDocument = DocumentOf<ApprovalRecord> & { changedAt: string };

/** Approval with the time of its last change, ISO 8601, by the clock of the process that changed it. */
interface ChangedApproval {
  record: ApprovalRecord;
  changedAt: string;
}

interface ApprovalQuery {
  project: string;
  /** State as of now: an expired approval is not awaiting. `@default` all */
  state?: ApprovalRecord['state'];
  limit: number;
  cursor?: string | undefined;
}

/** Fields that a change writes. */
type ApprovalChange = Pick<ApprovalRecord, 'state'> &
  Partial<Pick<ApprovalRecord, 'decidedBy' | 'decidedAt' | 'reason' | 'usedAt' | 'usedFor'>>;

const DAY_MS = 86_400_000;

/** Approval requests and their decisions. Of two concurrent changes, one takes effect. */
export class Approvals extends recordRepositoryOf({
  collection: 'approvals',
  noun: 'an approval',
  isId: isApprovalId,
  model: approvalRecord,
  internal: { changedAt: instant },
}) {
  /** @returns false when that id exists */
  async create(record: ApprovalRecord): Promise<boolean> {
    return this.insertRecord(record, { changedAt: nowText() });
  }

  /** Lists approvals, newest first. */
  list({ project, state, ...query }: ApprovalQuery): Promise<Page<ApprovalRecord>> {
    return this.page({ project, ...(state && this.#inState(state)) }, query, 'askedAt');
  }

  /** Returns approvals of a project that changed or expired since that time, oldest change first. */
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

  /** Reports whether an approval is among the first `atMost` of its project that await a decision. */
  async isAmong({ id, project }: Pick<ApprovalRecord, 'id' | 'project'>, atMost: number): Promise<boolean> {
    const filter = { project, ...this.#inState('awaiting-approval') };
    const first = await this.documents(filter, { sort: { askedAt: 1, _id: 1 }, limit: atMost, only: { _id: 1 } });
    return first.some(({ _id }) => _id === id);
  }

  /**
   * Changes an approval in a given state; only a used one may have expired.
   * @returns the changed record; null when it has left that state
   */
  async change(
    id: string,
    from: Pick<ApprovalRecord, 'state'> & { usedFor?: string },
    to: ApprovalChange,
  ): Promise<ApprovalRecord | null> {
    const as = from.state === 'used' ? {} : { expiresAt: { $gt: nowText() } };
    return this.setAndRead({ _id: id, ...from, ...as }, { ...to, changedAt: nowText() });
  }

  /** Removes a request that exceeds the limit. @returns false when it was decided concurrently */
  async remove(id: string): Promise<boolean> {
    return this.deleteOne({ _id: id, state: 'awaiting-approval' });
  }

  /** Removes approvals that expired long ago. @returns number removed */
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
    getApprovalAsOf({ id, ...record }, Date.now());
}

function nowText(): string {
  return new Date().toISOString();
}
