import type { Connection, Model } from 'mongoose';
import type { Reconciled, ReconciledOutcome } from '../../model/sagas/reconcile.ts';
import { RECONCILED_OUTCOMES } from '../../model/sagas/reconcile.ts';
import { counted } from '../mongo/count.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { NAME, NULLABLE_TEXT, strictSchema } from '../mongo/schema.ts';

type ReconciledDocument = Omit<Reconciled, 'id'> & { _id: string };

/** What reconciliations came to, one document each, so that any process can count them; the audit trail tells of each. */
export class ReconciledThings {
  readonly #model: Model<ReconciledDocument>;

  constructor(connection: Connection) {
    const fields = { _id: NAME, outcome: NAME, subject: NAME, hostId: NULLABLE_TEXT, at: NAME };
    this.#model = connection.model<ReconciledDocument>('Reconciled', strictSchema(fields), 'reconciled');
  }

  /** Again, it changes nothing. */
  async add({ id: _id, ...rest }: Reconciled): Promise<void> {
    try {
      await reaching('count what was reconciled', () => this.#model.create({ _id, ...rest }));
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  }

  /** How many came to each outcome, also 0. */
  async counts(): Promise<Map<ReconciledOutcome, number>> {
    const counts = RECONCILED_OUTCOMES.map(async (outcome) => {
      const n = await counted('count what was reconciled', this.#model, { outcome });
      return [outcome, n] as const;
    });
    return new Map(await Promise.all(counts));
  }
}
