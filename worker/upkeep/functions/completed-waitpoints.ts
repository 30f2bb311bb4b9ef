import type { Store } from '../../../store/connect.ts';
import type { Completion } from '../../../store/waitpoints/waitpoints.ts';

/** Of one look. */
const AT_ONCE = 100;

/**
 * Writes to the audit of a run that a waitpoint of it was completed: the API, which takes the data, has no key of the audit. Who
 * sends it has a token and no name, so the entry says which token that was, and who made the waitpoint; never the data.
 */
export class CompletedWaitpoints {
  constructor(private readonly store: Pick<Store, 'audit' | 'waitpoints'>) {}

  async look(): Promise<void> {
    const { waitpoints } = this.store;
    for (const completion of await waitpoints.unaudited(AT_ONCE)) {
      await this.#record(completion);
      await waitpoints.audited(completion.waitpoint.id);
    }
  }

  async #record({ waitpoint, token }: Completion): Promise<void> {
    const { id, runId, name, createdBy, completedAt, createdAt } = waitpoint;
    await this.store.audit.record(runId, {
      eventId: `${id}/completed`,
      kind: 'run.waitpoint-completed',
      actor: createdBy,
      runId: null,
      hostId: null,
      at: completedAt ?? createdAt,
      detail: { waitpointId: id, waitpoint: name, by: `token ${token}` },
    });
  }
}
