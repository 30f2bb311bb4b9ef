import { z } from '@hono/zod-openapi';
import { idOf } from '../../model/request-fields.ts';
import {
  ATTEMPT_OUTCOMES,
  DELIVERY_FAILURES,
  DELIVERY_STATES,
  type DeliveryRecord,
} from '../../model/webhooks/delivery.ts';
import { WEBHOOK_TYPES } from '../../model/webhooks/endpoint.ts';
import { cursor, instant, limit } from '../http/schemas.ts';
import { endpointParams } from './endpoint-schemas.ts';

export const deliveryParams = endpointParams.extend({
  deliveryId: idOf('delivery', 'the id of a delivery'),
});
export const deliveriesQuery = z.strictObject({ limit, cursor, state: z.enum(DELIVERY_STATES).optional() });

export const recoverDeliveries = z
  .strictObject({ since: z.iso.datetime().openapi({ description: 'Deliveries that were made then or later' }) })
  .openapi('RecoverDeliveries');

const attempt = z.object({
  n: z.int(),
  at: instant,
  outcome: z.enum(ATTEMPT_OUTCOMES).openapi({
    description: '`unknown`: whoever sent it died before it wrote down what came of it',
  }),
  latencyMs: z.int().nullable(),
  status: z.int().nullable().openapi({ description: 'Of HTTP; null: there was no answer' }),
  reason: z.string().nullable().openapi({ description: 'Why it failed' }),
  answer: z.string().nullable().openapi({
    description:
      'The first KiB of the answer, secrets that can be recognised left out; for keys with the scope `admin`',
  }),
  nextAt: instant.nullable(),
});

export const deliveryAnswer = z
  .object({
    id: z.string().openapi({ description: '`webhook-id` of each attempt' }),
    endpointId: z.string(),
    eventId: z.string(),
    type: z.enum(WEBHOOK_TYPES),
    state: z.enum(DELIVERY_STATES),
    failure: z.enum(DELIVERY_FAILURES).nullable(),
    attempts: z.array(attempt),
    dueAt: instant.nullable().openapi({ description: 'When the next attempt is made' }),
    createdAt: instant,
    endedAt: instant.nullable(),
  })
  .openapi('WebhookDelivery');

/** Masks what receivers answered. @param isAdmin whether that is shown */
export function deliveryView(delivery: DeliveryRecord, isAdmin: boolean): DeliveryRecord {
  return isAdmin ? delivery : { ...delivery, attempts: delivery.attempts.map((each) => ({ ...each, answer: null })) };
}
