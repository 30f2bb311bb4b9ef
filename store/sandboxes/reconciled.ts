import type { Connection } from 'mongoose';
import type { Reconciled, ReconciledOutcome } from '../../model/sagas/reconcile.ts';
import { RECONCILED_OUTCOMES } from '../../model/sagas/reconcile.ts';
import { counted } from '../mongo/count.ts';
import { NAME, NULLABLE_TEXT } from '../mongo/schema.ts';
import { Repository } from '../repository/repository.ts';
import type { Sealing } from '../sealed/sealing.ts';

/** What reconciliations came to, one document each, so that any process can count them; the audit trail tells of each. */
export class ReconciledThings extends Repository<Reconciled> {
  constructor(connection: Connection, sealing: Sealing) {
    const fields = { outcome: NAME, subject: NAME, hostId: NULLABLE_TEXT, at: NAME };
    super(connection, sealing, { collection: 'reconciled', noun: 'an outcome', fields });
  }

  /** Again, it changes nothing. */
  async add({ id: _id, ...rest }: Reconciled): Promise<void> {
    await this.insert({ _id, ...rest });
  }

  /** How many came to each outcome, also 0. */
  async counts(): Promise<Map<ReconciledOutcome, number>> {
    const counts = RECONCILED_OUTCOMES.map(async (outcome) => {
      const n = await counted('count what was reconciled', this.model, { outcome });
      return [outcome, n] as const;
    });
    return new Map(await Promise.all(counts));
  }
}
