import { z } from 'zod';
import { instant } from '../../model/fields.ts';
import type { Reconciled, ReconciledOutcome } from '../../model/sagas/reconcile.ts';
import { RECONCILED_OUTCOMES } from '../../model/sagas/reconcile.ts';
import { counted } from '../mongo/count.ts';
import { repositoryOf } from '../repository/repository.ts';

const reconciled = z.object({
  outcome: z.enum(RECONCILED_OUTCOMES),
  subject: z.string(),
  hostId: z.string().nullable(),
  at: instant,
});

/** Outcomes of reconciliations, so that any process can count them; the audit records each. */
export class ReconcileOutcomes extends repositoryOf({
  collection: 'reconciled',
  noun: 'an outcome',
  model: reconciled,
}) {
  /** Adds an outcome. Idempotent. */
  async add({ id: _id, ...rest }: Reconciled): Promise<void> {
    await this.insert({ _id, ...rest });
  }

  /** Counts each outcome, also those with 0. */
  async counts(): Promise<Map<ReconciledOutcome, number>> {
    const counts = RECONCILED_OUTCOMES.map(async (outcome) => {
      const n = await counted('count what was reconciled', this.model, { outcome });
      return [outcome, n] as const;
    });
    return new Map(await Promise.all(counts));
  }
}
