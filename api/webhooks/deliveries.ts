import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { idSchema } from '../../model/request-fields.ts';
import { grants } from '../../model/scopes.ts';
import { type DeliveryRecord, deliveryRecord } from '../../model/webhooks/delivery.ts';
import type { EndpointRecord } from '../../model/webhooks/endpoint.ts';
import { orThrow, requireEndpoint } from '../../services/service-deps.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { type Route, routeOf } from '../http/route.ts';
import { cursor, json, limit, pageOf } from '../http/schemas.ts';
import { endpointParams } from './endpoint-schemas.ts';

const deliveryParams = endpointParams.extend({
  deliveryId: idSchema('delivery', 'the id of a delivery'),
});
const deliveriesQuery = z.strictObject({ limit, cursor, state: deliveryRecord.shape.state.optional() });

const recoverDeliveries = z
  .strictObject({ since: z.iso.datetime().openapi({ description: 'Deliveries that were made then or later' }) })
  .openapi('RecoverDeliveries');

export const deliveryAnswer = deliveryRecord
  .omit({ project: true, format: true, body: true, tries: true, askedAt: true, sendingSince: true })
  .openapi('WebhookDelivery');

/** Returns a delivery, without receivers' responses unless for admins. */
function deliveryView(delivery: DeliveryRecord, isAdmin: boolean): DeliveryRecord {
  return isAdmin ? delivery : { ...delivery, attempts: delivery.attempts.map((each) => ({ ...each, answer: null })) };
}

const route = routeOf('webhooks');

const ONE = '/v1/webhook-endpoints/{id}';

export const deliveryRoutes: Route[] = [
  route('listWebhookDeliveries', 'get', `${ONE}/deliveries`, {
    scope: 'sandboxes:read',
    summary: 'List what was sent to a webhook endpoint, newest first, with each attempt',
    in: { params: endpointParams, query: deliveriesQuery },
    out: { 200: json('One page', pageOf(deliveryAnswer)) },
    problems: ['endpoint_not_found'],
    handle: async ({ c, deps, store, params, query }) => {
      const { id } = await requireEndpoint(deps, params.id);
      const page = await store.webhookDeliveries.list({ endpointId: id, ...query });
      return { ...page, items: page.items.map((each) => deliveryView(each, isAdmin(c))) };
    },
  }),
  route('redeliverWebhook', 'post', `${ONE}/deliveries/{deliveryId}/redeliver`, {
    scope: 'sandboxes:write',
    summary: 'Send it again, now, under the same id, whatever became of it',
    in: { params: deliveryParams },
    out: { 202: json('It is sent in a second', deliveryAnswer) },
    problems: ['endpoint_not_found', 'delivery_not_found', 'endpoint_disabled'],
    handle: async ({ c, deps, store, params: { id, deliveryId } }) => {
      await refuseUnlessEnabled(deps, id);
      await requireDelivery(deps, id, deliveryId);
      await store.webhookDeliveries.again(deliveryId, new Date().toISOString());
      return deliveryView(await requireDelivery(deps, id, deliveryId), isAdmin(c));
    },
  }),
  route('recoverWebhooks', 'post', `${ONE}/recover`, {
    scope: 'sandboxes:write',
    summary: 'Send all again that were given up, also those that came while it was disabled',
    in: { params: endpointParams, body: recoverDeliveries },
    out: { 202: json('They are sent', z.object({ count: z.int() }).openapi('RecoveredDeliveries')) },
    problems: ['endpoint_not_found', 'endpoint_disabled'],
    handle: async ({ deps, store, params, body }) => {
      const { id } = await refuseUnlessEnabled(deps, params.id);
      const since = new Date(body.since).toISOString();
      return { count: await store.webhookDeliveries.recover(id, since, new Date().toISOString()) };
    },
  }),
];

/** @throws MayflyError endpoint_not_found, endpoint_disabled */
async function refuseUnlessEnabled(deps: RequestDeps, id: string): Promise<EndpointRecord> {
  const endpoint = await requireEndpoint(deps, id);
  if (endpoint.disabledAt === null) return endpoint;
  throw new MayflyError('endpoint_disabled', `Nothing is sent to ${id} since ${endpoint.disabledAt}.`);
}

/** @throws MayflyError delivery_not_found */
async function requireDelivery({ store }: RequestDeps, endpointId: string, id: string): Promise<DeliveryRecord> {
  const found = await store.webhookDeliveries.get(id);
  return orThrow(
    found?.endpointId === endpointId && found,
    'delivery_not_found',
    `There is no delivery ${id} to ${endpointId}.`,
  );
}

function isAdmin(c: Context<Env>): boolean {
  return grants(c.get('apiKey').scopes, 'admin');
}
