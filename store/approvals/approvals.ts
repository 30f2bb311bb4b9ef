import type mongoose from 'mongoose';
import type { Connection, Model } from 'mongoose';
import {
  APPROVAL_STATES,
  type ApprovalRecord,
  type ApprovalState,
  approvalAt,
} from '../../model/approvals/approval.ts';
import { isApprovalId } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { actorPart, NAME, NULLABLE_TEXT, NUMBER, SEALED, strictSchema, TEXT } from '../mongo/schema.ts';
import { olderThan, type Page, pageOf } from '../sealed/page-cursor.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

interface ApprovalDocument extends Omit<ApprovalRecord, 'id'> {
  _id: string;
  /** Missing in those of before there was one. */
  changedAt?: string;
}

/** An approval as it is since that time, by the clock of the process that changed it. ISO 8601. */
export interface ChangedApproval {
  record: ApprovalRecord;
  changedAt: string;
}

export interface ApprovalQuery {
  project: string;
  /** As it is now: what has expired is no longer waiting. `@default` all */
  state?: ApprovalState;
  limit: number;
  cursor?: string;
}

/** What one change writes. */
export type ApprovalChange = Pick<ApprovalRecord, 'state'> &
  Partial<Pick<ApprovalRecord, 'decidedBy' | 'decidedAt' | 'reason' | 'usedAt' | 'usedFor'>>;

const DAY_MS = 86_400_000;

/** What was asked for and may not be done without somebody's leave. Of two changes at once one is made. */
export class Approvals {
  readonly #model: Model<ApprovalDocument>;
  readonly #fields: SealedFields;

  constructor(
    connection: Connection,
    sealing: Sealing,
    private readonly now: () => number = Date.now,
  ) {
    this.#fields = sealing.of('approvals');
    const schema = strictSchema<ApprovalDocument>({
      _id: NAME,
      project: NAME,
      state: { type: String, required: true, enum: APPROVAL_STATES },
      action: NAME,
      request: SEALED,
      digest: NAME,
      salt: NAME,
      rules: SEALED,
      policyVersion: NUMBER,
      role: NAME,
      askedBy: { type: actorPart(), required: true },
      askedAt: NAME,
      expiresAt: NAME,
      decidedBy: { type: actorPart(), default: null },
      decidedAt: NULLABLE_TEXT,
      reason: SEALED,
      usedAt: NULLABLE_TEXT,
      usedFor: NULLABLE_TEXT,
      changedAt: TEXT,
    });
    this.#model = connection.model<ApprovalDocument>('Approval', schema, 'approvals');
  }

  /** @returns false when there is one of that id */
  async create({ id: _id, ...record }: ApprovalRecord): Promise<boolean> {
    const document = this.#fields.sealed(_id, { _id, ...record, changedAt: this.#nowText() });
    try {
      await reaching('record an approval', () => this.#model.create(document));
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  async get(id: string): Promise<ApprovalRecord | null> {
    const found = await reaching('read an approval', () => this.#model.findById(id).lean<ApprovalDocument>());
    return found && this.#record(found);
  }

  /** The newest first. */
  async list({ project, state, limit, cursor }: ApprovalQuery): Promise<Page<ApprovalRecord>> {
    const filter = { project, ...(state && this.#inState(state)), ...olderThan(cursor, 'askedAt', isApprovalId) };
    const found = await reaching('list approvals', () =>
      this.#model
        .find(filter)
        .sort({ askedAt: -1, _id: -1 })
        .limit(limit + 1)
        .lean<ApprovalDocument[]>(),
    );
    return pageOf(this.#fields, found, { limit, at: ({ askedAt }) => askedAt, recordOf: this.#recordOf });
  }

  /** Those of a project that were asked for, decided, used or given back, or have expired, since that time; the oldest change first. */
  async changedSince(project: string, since: string, limit: number): Promise<ChangedApproval[]> {
    const expired = { ...this.#inState('expired'), expiresAt: { $gte: since, $lte: this.#nowText() } };
    const find = (filter: mongoose.QueryFilter<ApprovalDocument>, by: 'changedAt' | 'expiresAt') =>
      this.#model
        .find({ project, ...filter })
        .sort({ [by]: 1 })
        .limit(limit)
        .lean<ApprovalDocument[]>();
    const [changed, ended] = await reaching('read what has changed of approvals', () =>
      Promise.all([find({ changedAt: { $gte: since } }, 'changedAt'), find(expired, 'expiresAt')]),
    );
    const isEnded = new Set(ended.map(({ _id }) => _id));
    const stillOpen = changed.filter(({ _id }) => !isEnded.has(_id));
    const changes = this.#fields.records(stillOpen, (one) => ({
      record: this.#recordOf(one),
      changedAt: one.changedAt ?? since,
    }));
    const ends = this.#fields.records(ended, (one) => ({ record: this.#recordOf(one), changedAt: one.expiresAt }));
    return [...changes, ...ends].toSorted((a, b) => (a.changedAt < b.changedAt ? -1 : 1)).slice(0, limit);
  }

  /** Whether one is among the first so many of its project that wait. */
  async isAmong({ id, project }: Pick<ApprovalRecord, 'id' | 'project'>, atMost: number): Promise<boolean> {
    const filter = { project, ...this.#inState('awaiting-approval') };
    const first = await reaching('count approvals', () =>
      this.#model.find(filter, { _id: 1 }).sort({ askedAt: 1, _id: 1 }).limit(atMost).lean<{ _id: string }[]>(),
    );
    return first.some(({ _id }) => _id === id);
  }

  /**
   * Changes one that is in a state, and has not expired unless it was used.
   * @returns as it is then; null when it is not in that state any more
   */
  async change(id: string, from: Pick<ApprovalRecord, 'state'> & { usedFor?: string }, to: ApprovalChange) {
    const as = from.state === 'used' ? {} : { expiresAt: { $gt: this.#nowText() } };
    const changed = await reaching('change an approval', () =>
      this.#model
        .findOneAndUpdate(
          { _id: id, ...from, ...as },
          { $set: this.#fields.sealed(id, { ...to, changedAt: this.#nowText() }) },
          { returnDocument: 'after' },
        )
        .lean<ApprovalDocument>(),
    );
    return changed && this.#record(changed);
  }

  /** One that was not to be: there were too many already. @returns false: somebody has decided it meanwhile */
  async remove(id: string): Promise<boolean> {
    const filter = { _id: id, state: 'awaiting-approval' } as const;
    const { deletedCount } = await reaching('remove an approval', () => this.#model.deleteOne(filter));
    return deletedCount > 0;
  }

  /** Removes those that expired long ago, and says how many they were. */
  async prune(): Promise<number> {
    const before = new Date(this.now() - LIMITS.approvals.keptDays * DAY_MS).toISOString();
    const past = { expiresAt: { $lt: before } };
    return reaching('prune approvals', async () => (await this.#model.deleteMany(past)).deletedCount);
  }

  #inState(state: ApprovalState): mongoose.QueryFilter<ApprovalDocument> {
    const now = this.#nowText();
    if (state === 'expired') return { state: { $in: ['awaiting-approval', 'approved'] }, expiresAt: { $lte: now } };
    if (state === 'awaiting-approval' || state === 'approved') return { state, expiresAt: { $gt: now } };
    return { state };
  }

  #nowText(): string {
    return new Date(this.now()).toISOString();
  }

  #record(document: ApprovalDocument): ApprovalRecord {
    return this.#recordOf(this.#fields.opened(document));
  }

  /** @param document opened */
  readonly #recordOf = ({ _id: id, changedAt: _changedAt, ...record }: ApprovalDocument): ApprovalRecord =>
    approvalAt({ id, ...record }, this.now());
}
