import { createRoute } from '@hono/zod-openapi';
import { endpointIdFrom } from '../../model/ids.ts';
import type { Unreadable } from '../../store/sealed/sealed-fields.ts';
import { actorOf, requires } from '../http/auth.ts';
import { type App, serialised } from '../http/context.ts';
import { answerOnce, freedWhenRefused } from '../http/idempotency.ts';
import { BODY, KEYED, problems } from '../http/problem-answers.ts';
import { answerList, json, keyHeaders, noQuery, pageOf } from '../http/schemas.ts';
import {
  changedEndpoint,
  endpointNotFound,
  recordedEndpoint,
  refuseUnlessRoom,
  requireEndpoint,
  rotatedEndpoint,
  wantedEndpoint,
} from './change-endpoint.ts';
import {
  changeEndpoint,
  createEndpoint,
  endpointAnswer,
  endpointParams,
  endpointView,
  newEndpointAnswer,
  newEndpointView,
} from './endpoint-schemas.ts';

const ALL = '/v1/webhook-endpoints';
const tags = ['webhooks'];
const reads = [requires('sandboxes:read')];
const writes = [requires('sandboxes:write')];
const one = { path: `${ALL}/{id}`, tags, request: { params: endpointParams, query: noQuery } } as const;

const createOne = createRoute({
  method: 'post',
  path: ALL,
  tags,
  operationId: 'createWebhookEndpoint',
  summary: 'Have events of the project sent to a URL',
  description: 'docs/webhooks.md says what is sent, how it is signed, and when it is sent again.',
  middleware: writes,
  request: {
    query: noQuery,
    headers: keyHeaders,
    body: { required: true, content: { 'application/json': { schema: createEndpoint } } },
  },
  responses: {
    201: json('Events are sent from now on; the secret is in this answer and nowhere else', newEndpointAnswer),
    ...problems(BODY, KEYED, 'endpoints_full'),
  },
});

const listAll = createRoute({
  method: 'get',
  path: ALL,
  tags,
  operationId: 'listWebhookEndpoints',
  summary: 'List the webhook endpoints of the project, the oldest first, at most 50',
  middleware: reads,
  request: { query: noQuery },
  responses: { 200: json('All of them', pageOf(endpointAnswer)), ...problems() },
});

const getOne = createRoute({
  ...one,
  method: 'get',
  operationId: 'getWebhookEndpoint',
  summary: 'Read a webhook endpoint, without its secrets',
  middleware: reads,
  responses: { 200: json('The endpoint', endpointAnswer), ...problems('endpoint_not_found') },
});

const changeOne = createRoute({
  ...one,
  method: 'patch',
  operationId: 'updateWebhookEndpoint',
  summary: 'Change where to, what and whether events are sent',
  description: 'What is not named stays. `{"disabled": false}` has events sent again to one that was disabled.',
  middleware: writes,
  request: { ...one.request, body: { required: true, content: { 'application/json': { schema: changeEndpoint } } } },
  responses: { 200: json('It is so from now on', endpointAnswer), ...problems(BODY, 'endpoint_not_found') },
});

const deleteOne = createRoute({
  ...one,
  method: 'delete',
  operationId: 'deleteWebhookEndpoint',
  summary: 'Delete a webhook endpoint, and what was sent to it: nothing more is',
  middleware: writes,
  responses: { 204: { description: 'It is gone' }, ...problems('endpoint_not_found') },
});

const rotateOne = createRoute({
  ...one,
  method: 'post',
  path: `${ALL}/{id}/rotate`,
  operationId: 'rotateWebhookEndpoint',
  summary: 'Give a webhook endpoint another secret: for 24 hours both sign',
  middleware: writes,
  responses: {
    200: json('The secret is in this answer and nowhere else', newEndpointAnswer),
    ...problems('endpoint_not_found'),
  },
});

export function endpointRoutes(app: App): void {
  app.openapi(createOne, async (c) => {
    const body = c.req.valid('json');
    const deps = c.get('deps');
    const asked = { idFrom: endpointIdFrom, key: c.req.valid('header')['idempotency-key'], body };
    return serialised(
      await answerOnce(c, deps.store, asked, async (attempt) => {
        const wanted = wantedEndpoint(attempt.subjectId, actorOf(c), body);
        if (attempt.isFresh) await freedWhenRefused(deps.store, attempt, () => refuseUnlessRoom(deps));
        const endpoint = await recordedEndpoint(deps, wanted);
        c.header('Location', `${ALL}/${endpoint.id}`);
        c.header('Cache-Control', 'no-store');
        return { response: c.json(newEndpointView(endpoint), 201), isKept: true };
      }),
    );
  });
  app.openapi(listAll, async (c) => {
    const unreadable: Unreadable[] = [];
    const found = await c.get('deps').store.webhookEndpoints.list(unreadable);
    return c.json({ ...answerList(found.map(endpointView), unreadable), nextCursor: null }, 200);
  });
  app.openapi(getOne, async (c) =>
    c.json(endpointView(await requireEndpoint(c.get('deps'), c.req.valid('param').id)), 200),
  );
  app.openapi(changeOne, async (c) => {
    const endpoint = await requireEndpoint(c.get('deps'), c.req.valid('param').id);
    return c.json(endpointView(await changedEndpoint(c.get('deps'), endpoint, c.req.valid('json'))), 200);
  });
  app.openapi(deleteOne, async (c) => {
    const { id } = c.req.valid('param');
    if (await c.get('deps').store.webhookEndpoints.remove(id)) return c.body(null, 204);
    throw endpointNotFound(id);
  });
  app.openapi(rotateOne, async (c) => {
    const endpoint = await rotatedEndpoint(c.get('deps'), c.req.valid('param').id);
    c.header('Cache-Control', 'no-store');
    return c.json(newEndpointView(endpoint), 200);
  });
}
