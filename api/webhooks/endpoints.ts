import { endpointIdFrom } from '../../model/ids.ts';
import { orThrow, requireEndpoint } from '../../services/service-deps.ts';
import {
  assertEndpointLimit,
  changedEndpoint,
  recordEndpoint,
  rotateEndpointKey,
  wantedEndpoint,
} from '../../services/webhooks/change-endpoint.ts';
import type { Unreadable } from '../../store/sealed/sealed-fields.ts';
import { actorOf } from '../http/context.ts';
import { type Route, routeOf } from '../http/route.ts';
import { answerList, json, keyHeaders, pageOf } from '../http/schemas.ts';
import { answerOnce, keep } from '../idempotency/answer-once.ts';
import {
  changeEndpoint,
  createEndpoint,
  endpointAnswer,
  endpointParams,
  endpointView,
  newEndpointAnswer,
  newEndpointView,
} from './endpoint-schemas.ts';

const route = routeOf('webhooks');

const ALL = '/v1/webhook-endpoints';

export const endpointRoutes: Route[] = [
  route('createWebhookEndpoint', 'post', ALL, {
    scope: 'sandboxes:write',
    summary: 'Have events of the project sent to a URL',
    description: 'docs/events.md says what is sent, how it is signed, and when it is sent again.',
    in: { headers: keyHeaders, body: createEndpoint },
    out: { 201: json('Events are sent from now on; the secret is in this answer and nowhere else', newEndpointAnswer) },
    problems: ['endpoints_full'],
    location: ({ id }) => `${ALL}/${id}`,
    handle: ({ c, deps, respond, body }) =>
      answerOnce({ c, respond }, { idFrom: endpointIdFrom }, async (call) => {
        const wanted = wantedEndpoint(call.subjectId, actorOf(c), body);
        if (call.isFresh) await assertEndpointLimit(deps);
        const endpoint = await recordEndpoint(deps, wanted);
        c.header('Cache-Control', 'no-store');
        return keep(newEndpointView(endpoint));
      }),
  }),
  route('listWebhookEndpoints', 'get', ALL, {
    scope: 'sandboxes:read',
    summary: 'List the webhook endpoints of the project, the oldest first, at most 50',
    out: { 200: json('All of them', pageOf(endpointAnswer)) },
    handle: async ({ store }) => {
      const unreadable: Unreadable[] = [];
      const found = await store.webhookEndpoints.list(unreadable);
      return { ...answerList(found.map(endpointView), unreadable), nextCursor: null };
    },
  }),
  route('getWebhookEndpoint', 'get', `${ALL}/{id}`, {
    scope: 'sandboxes:read',
    summary: 'Read a webhook endpoint, without its secrets',
    in: { params: endpointParams },
    out: { 200: json('The endpoint', endpointAnswer) },
    problems: ['endpoint_not_found'],
    handle: async ({ deps, params }) => endpointView(await requireEndpoint(deps, params.id)),
  }),
  route('updateWebhookEndpoint', 'patch', `${ALL}/{id}`, {
    scope: 'sandboxes:write',
    summary: 'Change where to, what and whether events are sent',
    description: 'What is not named stays. `{"disabled": false}` has events sent again to one that was disabled.',
    in: { params: endpointParams, body: changeEndpoint },
    out: { 200: json('It is so from now on', endpointAnswer) },
    problems: ['endpoint_not_found'],
    handle: async ({ deps, params, body }) => {
      const endpoint = await requireEndpoint(deps, params.id);
      return endpointView(await changedEndpoint(deps, endpoint, body));
    },
  }),
  route('deleteWebhookEndpoint', 'delete', `${ALL}/{id}`, {
    scope: 'sandboxes:write',
    summary: 'Delete a webhook endpoint, and what was sent to it: nothing more is',
    in: { params: endpointParams },
    out: { 204: { description: 'It is gone' } },
    problems: ['endpoint_not_found'],
    handle: async ({ store, params: { id } }) => {
      orThrow(await store.webhookEndpoints.remove(id), 'endpoint_not_found', `There is no webhook endpoint ${id}.`);
    },
  }),
  route('rotateWebhookEndpoint', 'post', `${ALL}/{id}/rotate`, {
    scope: 'sandboxes:write',
    summary: 'Give a webhook endpoint another secret: for 24 hours both sign',
    in: { params: endpointParams },
    out: { 200: json('The secret is in this answer and nowhere else', newEndpointAnswer) },
    problems: ['endpoint_not_found'],
    handle: async ({ c, deps, params }) => {
      const endpoint = await rotateEndpointKey(deps, params.id);
      c.header('Cache-Control', 'no-store');
      return newEndpointView(endpoint);
    },
  }),
];
