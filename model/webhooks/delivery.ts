import { z } from 'zod';
import { encryptedField, instant } from '../fields.ts';
import { deriveDeliveryId } from '../ids.ts';
import { type EndpointRecord, WEBHOOK_TYPES, webhookFormat } from './endpoint.ts';
import { formatBody, type WebhookEvent } from './event.ts';

const deliveryAttempt = z.object({
  n: z.int(),
  at: instant,
  outcome: z
    .enum(['delivered', 'failed', 'unknown'])
    .describe('`unknown`: whoever sent it died before it wrote down what came of it'),
  latencyMs: z.int().nullable().describe('From its begin to its end; null: nobody knows'),
  status: z.int().nullable().describe('Of HTTP; null: there was no answer'),
  reason: z.string().nullable().describe('Why it failed'),
  answer: z
    .string()
    .nullable()
    .describe('The first KiB of the answer, secrets that can be recognised left out; for keys with the scope `admin`'),
  nextAt: instant.nullable().describe('When the next is made; null: none is'),
});
/** Attempt of a delivery: one request. */
export type DeliveryAttempt = z.infer<typeof deliveryAttempt>;

/** Delivery of one event to one endpoint. */
export const deliveryRecord = z.object({
  id: z.string().describe('`webhook-id` of each attempt'),
  project: z.string(),
  endpointId: z.string(),
  eventId: z.string(),
  type: z.enum(WEBHOOK_TYPES),
  format: webhookFormat,
  body: encryptedField(z.string()).describe('The same bytes in each attempt'),
  state: z
    .enum(['pending', 'delivered', 'failed'])
    .describe('`pending`: it is sent, or sent again. `failed`: it is sent no more, unless somebody asks for it'),
  failure: z
    .enum(['attempts-used-up', 'endpoint-disabled', 'endpoint-gone', 'cancelled'])
    .nullable()
    .describe(
      'Why it is sent no more: each attempt failed, the endpoint is disabled, it said that it is gone for good (410), or its workflow was cancelled',
    ),
  attempts: encryptedField(z.array(deliveryAttempt)),
  tries: z.int().describe('Attempts since it was asked for'),
  askedAt: instant.describe('Since when it is asked for: its event, or whoever wanted it again'),
  dueAt: instant.nullable().describe('When the next attempt is made'),
  sendingSince: instant.nullable().describe('Since when an attempt is under way, of which nothing is written down yet'),
  createdAt: instant,
  endedAt: instant.nullable(),
});
export type DeliveryRecord = z.infer<typeof deliveryRecord>;
export type DeliveryState = DeliveryRecord['state'];

/** Builds a new delivery. @param now ISO 8601 */
export function newDelivery(event: WebhookEvent, endpoint: EndpointRecord, now: string): DeliveryRecord {
  const isDisabled = endpoint.disabledAt !== null;
  return {
    id: deriveDeliveryId(event.id, endpoint.id),
    project: endpoint.project,
    endpointId: endpoint.id,
    eventId: event.id,
    type: event.type,
    format: endpoint.format,
    body: formatBody(event, endpoint.format),
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
