import { z } from '@hono/zod-openapi';
import { idOf } from '../../model/request-fields.ts';
import { type DeliveryRecord, deliveryRecord } from '../../model/webhooks/delivery.ts';
import { cursor, limit } from '../http/schemas.ts';
import { endpointParams } from './endpoint-schemas.ts';

export const deliveryParams = endpointParams.extend({
  deliveryId: idOf('delivery', 'the id of a delivery'),
});
export const deliveriesQuery = z.strictObject({ limit, cursor, state: deliveryRecord.shape.state.optional() });

export const recoverDeliveries = z
  .strictObject({ since: z.iso.datetime().openapi({ description: 'Deliveries that were made then or later' }) })
  .openapi('RecoverDeliveries');

export const deliveryAnswer = deliveryRecord
  .omit({ project: true, format: true, body: true, tries: true, askedAt: true, sendingSince: true })
  .openapi('WebhookDelivery');

/** Masks what receivers answered. @param isAdmin whether that is shown */
export function deliveryView(delivery: DeliveryRecord, isAdmin: boolean): DeliveryRecord {
  return isAdmin ? delivery : { ...delivery, attempts: delivery.attempts.map((each) => ({ ...each, answer: null })) };
}
