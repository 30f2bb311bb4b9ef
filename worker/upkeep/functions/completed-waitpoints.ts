import type { Store } from '../../../store/connect.ts';
import type { Completion } from '../../../store/waitpoints/waitpoints.ts';

/** Maximum number per poll. */
const AT_ONCE = 100;

/**
 * Audits completed waitpoints of runs, since the API, which receives the data, has no audit key. The sender has a token
 * and no name, so the entry has the token and the waitpoint's creator; never the data.
 */
export class WaitpointAudit {
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
