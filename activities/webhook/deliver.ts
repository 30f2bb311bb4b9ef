import type { DeliveryAttempt, DeliveryRecord } from '../../model/webhooks/delivery.ts';
import type { DeliveryRetryPolicy } from '../../model/webhooks/delivery-plan.ts';
import type { DeliveryInput } from '../../model/webhooks/delivery-saga.ts';
import { type EndpointRecord, validSecrets } from '../../model/webhooks/endpoint.ts';
import { getContentType } from '../../model/webhooks/event.ts';
import type { PostOutcome, PostRequest } from '../../services/webhooks/sending/post.ts';
import { signDelivery } from '../../services/webhooks/signing/sign.ts';
import type { Store } from '../../store/connect.ts';
import type { WebhookPublisher } from './announcer.ts';
import { answerText } from './answer-text.ts';
import { EndpointHealth } from './endpoint-health.ts';
import { InFlight } from './in-flight.ts';

interface DeliveryDeps {
  store: Store;
  announcer: Pick<WebhookPublisher, 'ofDisabling'>;
  plan: DeliveryRetryPolicy;
  send: (posted: PostRequest) => Promise<PostOutcome>;
}

/** Delay after its due time, when a delivery is checked for a lost workflow. Milliseconds. */
const LOST_MS = 60_000;
/** Number of the latest attempts kept. */
const MOST_ATTEMPTS = 100;
/** Largest random spread of deliveries to an endpoint that was slowed down. Milliseconds. */
const MOST_SPREAD_MS = 30_000;
const UNKNOWN = 'whoever sent it died before it wrote down what came of it: it is sent again under the same id';

export function createDeliveryActivities({ store, announcer, plan, send }: DeliveryDeps) {
  const { webhookDeliveries: deliveries, webhookEndpoints: endpoints } = store;
  const inFlight = new InFlight();
  const health = new EndpointHealth(store, plan, announcer);

  /** @returns time until it may be sent; 0: now. Milliseconds */
  function waitMs({ dueAt }: DeliveryRecord, { slowUntil }: EndpointRecord): number {
    const now = Date.now();
    const due = Math.max(0, Date.parse(dueAt ?? '') - now || 0);
    const slow = Math.max(0, Date.parse(slowUntil ?? '') - now || 0);
    return Math.max(due, slow > 0 ? slow + Math.random() * Math.min(slow, MOST_SPREAD_MS) : 0);
  }

  async function sendOnce(delivery: DeliveryRecord, endpoint: EndpointRecord): Promise<{ pauseMs: number } | null> {
    const startedAt = Date.now();
    const at = iso(startedAt);
    if (!(await deliveries.begin(delivery, at, iso(startedAt + LOST_MS)))) return { pauseMs: 1_000 };
    const outcome = await send(requestOf(delivery, endpoint, startedAt));
    const latencyMs = Date.now() - startedAt;
    const tries = delivery.tries + 1;
    const isGone = outcome.status === 410;
    const pauseMs = outcome.isTaken || isGone ? null : plan.pauseMs(tries, outcome.retryAfterMs);
    const nextAt = pauseMs === null ? null : iso(Date.now() + pauseMs);
    const before = withUnknown(delivery);
    const attempt = attemptOf(before.length + 1, at, latencyMs, outcome, endpoint, nextAt);
    const attempts = [...before, attempt].slice(-MOST_ATTEMPTS);
    const changes = { attempts, tries, dueAt: nextAt };
    await health.after(endpoint, delivery, outcome, { at, isLast: pauseMs === null });
    if (pauseMs !== null) {
      await deliveries.settle(delivery.id, at, changes, iso(Date.now() + pauseMs + LOST_MS));
      return { pauseMs };
    }
    const failure = isGone ? 'endpoint-gone' : 'attempts-used-up';
    const end = outcome.isTaken ? ({ state: 'delivered' } as const) : ({ state: 'failed', failure } as const);
    await deliveries.settle(delivery.id, at, { ...changes, ...end, endedAt: iso(Date.now()) }, null);
    return null;
  }

  return {
    /** Makes the next attempt, if due. @returns time until the next; null: delivered, or given up */
    async attemptDelivery({
      deliveryId,
      isCancelled,
    }: DeliveryInput & { isCancelled: boolean }): Promise<{ pauseMs: number } | null> {
      const delivery = await deliveries.get(deliveryId);
      if (delivery?.state !== 'pending') return null;
      if (isCancelled) {
        await deliveries.giveUp(delivery.endpointId, 'cancelled', iso(Date.now()), delivery.id);
        return null;
      }
      const endpoint = await endpoints.get(delivery.endpointId);
      if (!endpoint || endpoint.disabledAt !== null) {
        const failure = endpoint?.disabledFor === 'gone' ? 'endpoint-gone' : 'endpoint-disabled';
        await deliveries.giveUp(delivery.endpointId, failure, iso(Date.now()), delivery.id);
        return null;
      }
      const pauseMs = waitMs(delivery, endpoint) || inFlight.begin(endpoint.id, endpoint.failingSince !== null);
      if (pauseMs > 0) return { pauseMs };
      try {
        return await sendOnce(delivery, endpoint);
      } finally {
        inFlight.ended(endpoint.id);
      }
    },
  };
}

export type DeliveryActivities = ReturnType<typeof createDeliveryActivities>;

function requestOf({ id, body: text, format }: DeliveryRecord, endpoint: EndpointRecord, now: number): PostRequest {
  const body = Buffer.from(text);
  const [first = '', ...more] = validSecrets(endpoint, now).map(({ key }) => key);
  const signed = signDelivery({ scheme: 'standard-webhooks' }, [first, ...more], { id, body, now });
  const headers = { 'content-type': getContentType(format), 'user-agent': 'Mayfly', ...Object.fromEntries(signed) };
  return { url: endpoint.url, headers, body };
}

/** Adds an attempt that was started without a recorded outcome. */
function withUnknown({ attempts, sendingSince }: DeliveryRecord): DeliveryAttempt[] {
  if (sendingSince === null) return attempts;
  const n = (attempts.at(-1)?.n ?? 0) + 1;
  const nothing = { latencyMs: null, status: null, answer: null, nextAt: sendingSince };
  return [...attempts, { n, at: sendingSince, outcome: 'unknown', reason: UNKNOWN, ...nothing }];
}

function attemptOf(
  n: number,
  at: string,
  latencyMs: number,
  { isTaken, status, reason, answer }: PostOutcome,
  { secrets }: EndpointRecord,
  nextAt: string | null,
): DeliveryAttempt {
  const outcome = isTaken ? 'delivered' : 'failed';
  return { n, at, outcome, latencyMs, status, reason, answer: answerText(answer, secrets), nextAt };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
