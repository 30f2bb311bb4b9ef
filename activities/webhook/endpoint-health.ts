import type { DeliveryRecord } from '../../model/webhooks/delivery.ts';
import type { DeliveryRetryPolicy } from '../../model/webhooks/delivery-plan.ts';
import type { DisabledFor, EndpointRecord } from '../../model/webhooks/endpoint.ts';
import type { PostOutcome } from '../../services/webhooks/sending/post.ts';
import type { Store } from '../../store/connect.ts';
import type { WebhookPublisher } from './announcer.ts';

/** Status codes of an overloaded endpoint. */
const TOO_MUCH = new Set([429, 502, 504]);

/** Health of endpoints by the outcomes of attempts: working, slowed down, or disabled. */
export class EndpointHealth {
  constructor(
    private readonly store: Pick<Store, 'webhookEndpoints'>,
    private readonly plan: DeliveryRetryPolicy,
    private readonly announcer: Pick<WebhookPublisher, 'ofDisabling'>,
  ) {}

  /**
   * @param endpoint state before the attempt, as of its delivery
   * @param attempt `at`: its start, ISO 8601; `isLast`: no retry follows
   */
  async after(
    endpoint: EndpointRecord,
    { attempts, askedAt }: DeliveryRecord,
    outcome: PostOutcome,
    { at, isLast }: { at: string; isLast: boolean },
  ): Promise<void> {
    const { id } = endpoint;
    if (outcome.isTaken) return this.#works(endpoint);
    if (outcome.status === 410) return this.#disable(id, 'gone');
    const since = endpoint.failingSince ?? at;
    if (endpoint.failingSince === null) {
      await this.store.webhookEndpoints.change(id, { failingSince: at }, { failingSince: null });
    }
    await this.#slowDown(endpoint, outcome);
    const first = attempts.find((each) => each.at >= askedAt)?.at ?? at;
    const isUnanswered = isLast && since <= first; // no event was accepted since its first attempt
    if (isUnanswered || this.plan.isGivenUp(Date.parse(since), Date.now())) await this.#disable(id, 'failures');
  }

  async #works({ id, failingSince, slowed }: EndpointRecord): Promise<void> {
    if (failingSince === null && slowed === 0) return;
    await this.store.webhookEndpoints.change(id, { failingSince: null, slowUntil: null, slowed: 0 });
  }

  async #slowDown({ id, slowed }: EndpointRecord, outcome: PostOutcome): Promise<void> {
    const { status, isTimeout, retryAfterMs } = outcome;
    if (!isTimeout && !TOO_MUCH.has(status ?? 0)) return;
    const slowUntil = new Date(Date.now() + this.plan.slowMs(slowed, retryAfterMs)).toISOString();
    await this.store.webhookEndpoints.change(id, { slowUntil, slowed: slowed + 1 }, { slowed });
  }

  async #disable(id: string, why: DisabledFor): Promise<void> {
    if (!(await this.store.webhookEndpoints.disable(id, why, new Date().toISOString()))) return;
    await this.announcer.ofDisabling().catch(() => undefined); // the next poll retries
  }
}
