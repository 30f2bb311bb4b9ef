import { deliveryIdOf } from '../ids.ts';
import type { EndpointRecord, WebhookFormat, WebhookType } from './endpoint.ts';
import { bodyOf, type WebhookEvent } from './event.ts';

/** `pending`: it is sent, or sent again. `failed`: it is sent no more, unless somebody asks for it. */
export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** Why it is sent no more: each attempt failed, the endpoint is disabled, it said that it is gone for good (410), or its workflow was cancelled. */
export const DELIVERY_FAILURES = ['attempts-used-up', 'endpoint-disabled', 'endpoint-gone', 'cancelled'] as const;
type DeliveryFailure = (typeof DELIVERY_FAILURES)[number];

/** `unknown`: whoever made it died before it wrote down what came of it. */
export const ATTEMPT_OUTCOMES = ['delivered', 'failed', 'unknown'] as const;
type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

/** One request. */
export interface DeliveryAttempt {
  /** 1, 2, 3 … */
  n: number;
  at: string;
  outcome: AttemptOutcome;
  /** From its begin to its end; null: nobody knows. Milliseconds. */
  latencyMs: number | null;
  /** Of HTTP; null: there was none. */
  status: number | null;
  /** Why it failed, in words. */
  reason: string | null;
  /** The first KiB of what was answered, as text, secrets that can be recognised left out. */
  answer: string | null;
  /** When the next is made; null: none is. ISO 8601. */
  nextAt: string | null;
}

/** What is sent of one event to one endpoint. */
export interface DeliveryRecord {
  /** `webhook-id` of each attempt. */
  id: string;
  project: string;
  endpointId: string;
  eventId: string;
  type: WebhookType;
  format: WebhookFormat;
  /** The same bytes in each attempt. */
  body: string;
  state: DeliveryState;
  failure: DeliveryFailure | null;
  attempts: DeliveryAttempt[];
  /** Attempts since it was asked for. */
  tries: number;
  /** Since when it is asked for: its event, or whoever wanted it again. ISO 8601. */
  askedAt: string;
  /** When the next attempt is made; null: none is. ISO 8601. */
  dueAt: string | null;
  /** Since when an attempt is under way, of which nothing is written down yet. ISO 8601. */
  sendingSince: string | null;
  createdAt: string;
  endedAt: string | null;
}

/** As it begins. @param now ISO 8601 */
export function newDelivery(event: WebhookEvent, endpoint: EndpointRecord, now: string): DeliveryRecord {
  const isDisabled = endpoint.disabledAt !== null;
  return {
    id: deliveryIdOf(event.id, endpoint.id),
    project: endpoint.project,
    endpointId: endpoint.id,
    eventId: event.id,
    type: event.type,
    format: endpoint.format,
    body: bodyOf(event, endpoint.format),
    state: isDisabled ? 'failed' : 'pending',
    failure: isDisabled ? 'endpoint-disabled' : null,
    attempts: [],
    tries: 0,
    askedAt: now,
    dueAt: isDisabled ? null : now,
    sendingSince: null,
    createdAt: now,
    endedAt: isDisabled ? now : null,
  };
}
