import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { grants } from '../../model/scopes.ts';
import type { DeliveryRecord } from '../../model/webhooks/delivery.ts';
import type { EndpointRecord } from '../../model/webhooks/endpoint.ts';
import { requires } from '../http/auth.ts';
import type { App, Env, RequestDeps } from '../http/context.ts';
import { BODY, problems } from '../http/problem-answers.ts';
import { json, noQuery, pageOf } from '../http/schemas.ts';
import { requireEndpoint } from './change-endpoint.ts';
import {
  deliveriesQuery,
  deliveryAnswer,
  deliveryParams,
  deliveryView,
  recoverDeliveries,
} from './delivery-schemas.ts';
import { endpointParams } from './endpoint-schemas.ts';

const ONE = '/v1/webhook-endpoints/{id}';
const tags = ['webhooks'];
const writes = [requires('sandboxes:write')];

const listAll = createRoute({
  method: 'get',
  path: `${ONE}/deliveries`,
  tags,
  operationId: 'listWebhookDeliveries',
  summary: 'List what was sent to a webhook endpoint, newest first, with each attempt',
  middleware: [requires('sandboxes:read')],
  request: { params: endpointParams, query: deliveriesQuery },
  responses: { 200: json('One page', pageOf(deliveryAnswer)), ...problems('endpoint_not_found') },
});

const redeliverOne = createRoute({
  method: 'post',
  path: `${ONE}/deliveries/{deliveryId}/redeliver`,
  tags,
  operationId: 'redeliverWebhook',
  summary: 'Send it again, now, under the same id, whatever became of it',
  middleware: writes,
  request: { params: deliveryParams, query: noQuery },
  responses: {
    202: json('It is sent in a second', deliveryAnswer),
    ...problems('endpoint_not_found', 'delivery_not_found', 'endpoint_disabled'),
  },
});

const recoverAll = createRoute({
  method: 'post',
  path: `${ONE}/recover`,
  tags,
  operationId: 'recoverWebhooks',
  summary: 'Send all again that were given up, also those that came while it was disabled',
  middleware: writes,
  request: {
    params: endpointParams,
    query: noQuery,
    body: { required: true, content: { 'application/json': { schema: recoverDeliveries } } },
  },
  responses: {
    202: json('They are sent', z.object({ count: z.int() }).openapi('RecoveredDeliveries')),
    ...problems(BODY, 'endpoint_not_found', 'endpoint_disabled'),
  },
});

export function deliveryRoutes(app: App): void {
  app.openapi(listAll, async (c) => {
    const deps = c.get('deps');
    const { id } = await requireEndpoint(deps, c.req.valid('param').id);
    const { limit = LIMITS.page.default, ...query } = c.req.valid('query');
    const page = await deps.store.webhookDeliveries.list({ endpointId: id, limit, ...query });
    return c.json({ ...page, items: page.items.map((each) => deliveryView(each, isAdmin(c))) }, 200);
  });
  app.openapi(redeliverOne, async (c) => {
    const deps = c.get('deps');
    const { id, deliveryId } = c.req.valid('param');
    const { store } = deps;
    await refuseUnlessEnabled(deps, id);
    await requireDelivery(deps, id, deliveryId);
    await store.webhookDeliveries.again(deliveryId, new Date().toISOString());
    return c.json(deliveryView(await requireDelivery(deps, id, deliveryId), isAdmin(c)), 202);
  });
  app.openapi(recoverAll, async (c) => {
    const deps = c.get('deps');
    const { id } = await refuseUnlessEnabled(deps, c.req.valid('param').id);
    const since = new Date(c.req.valid('json').since).toISOString();
    return c.json({ count: await deps.store.webhookDeliveries.recover(id, since, new Date().toISOString()) }, 202);
  });
}

/** @throws MayflyError endpoint_not_found, endpoint_disabled */
async function refuseUnlessEnabled(deps: RequestDeps, id: string): Promise<EndpointRecord> {
  const endpoint = await requireEndpoint(deps, id);
  if (endpoint.disabledAt === null) return endpoint;
  throw new MayflyError('endpoint_disabled', `Nothing is sent to ${id} since ${endpoint.disabledAt}.`);
}

/** @throws MayflyError delivery_not_found */
async function requireDelivery({ store }: RequestDeps, endpointId: string, id: string): Promise<DeliveryRecord> {
  const found = await store.webhookDeliveries.get(id);
  if (found?.endpointId === endpointId) return found;
  throw new MayflyError('delivery_not_found', `There is no delivery ${id} to ${endpointId}.`);
}

function isAdmin(c: Context<Env>): boolean {
  return grants(c.get('apiKey').scopes, 'admin');
}
