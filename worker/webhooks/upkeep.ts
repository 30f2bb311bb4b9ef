import type { Logger } from 'pino';
import { Announcer } from '../../activities/webhook/announcer.ts';
import type { Reconciliation } from '../../sagas/reconciliation.ts';
import type { Store } from '../../store/connect.ts';

/** How soon an event is told that somebody has left untold, or a delivery is made that was asked for again. Milliseconds. */
export const LOOK_AT_WEBHOOKS_EVERY_MS = 1_000;

/** Looks at what is to be told to webhook endpoints, and nobody tells. */
export class WebhookUpkeep {
  readonly #announcer: Announcer;

  constructor(
    private readonly store: Store,
    reconciliation: Pick<Reconciliation, 'startDelivery' | 'lookAtDelivery'>,
    private readonly logger: Logger,
  ) {
    this.#announcer = new Announcer(store, reconciliation);
  }

  async look(): Promise<void> {
    const later = (error: unknown) => this.logger.warn({ err: error }, 'webhooks are looked at again in a second');
    await this.#announcer.look(later).catch(later);
  }

  async removePast(): Promise<void> {
    try {
      await this.store.webhookDeliveries.removePast(new Date().toISOString());
    } catch (error) {
      this.logger.warn({ err: error }, 'deliveries of the past stay for another hour');
    }
  }
}
