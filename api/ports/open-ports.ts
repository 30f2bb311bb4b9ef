import { newPortSecret, TOKEN_NAME } from '../../services/ports/port-token.ts';
import { awaitCacheExpiry } from '../../store/mongo/cache-lifetime.ts';
import type { Unreadable } from '../../store/sealed/sealed-fields.ts';
import { SAGA } from '../http/problem-answers.ts';
import { type Route, reply, routeOf } from '../http/route.ts';
import { answerList, json } from '../http/schemas.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';
import { ensureOpen, issueTokenOf, recordPort, requirePort } from './opened-port.ts';
import { issueToken, openPort, portAnswer, portList, portParams, portView, tokenAnswer } from './port-schemas.ts';

const route = routeOf('ports');

const path = '/v1/sandboxes/{id}/ports';

export const openPortRoutes: Route[] = [
  route('openPort', 'post', path, {
    scope: 'sandboxes:write',
    summary: 'Open a port of the sandbox for HTTP, at a URL of its own',
    description:
      'HTTP, WebSocket and SSE, for who has a token of it (`POST …/tokens`), or a key of its project. The same again answers what ' +
      'is open. It ends with the sandbox; forks have none.',
    in: { params: sandboxParams, body: openPort },
    out: { 200: json('It was open, with these settings', portAnswer), 201: json('It is open', portAnswer) },
    problems: [SAGA, 'policy_denied', 'sandbox_not_found', 'sandbox_ended', 'port_refused', 'port_open', 'ports_full'],
    handle: async ({ c, deps, params, body: { port, ...settings } }) => {
      const { opened, isNew } = await ensureOpen(c, { sandboxId: params.id, port }, settings);
      return reply(isNew ? 201 : 200, portView(opened, deps.portAddress));
    },
  }),
  route('listPorts', 'get', path, {
    scope: 'sandboxes:read',
    summary: 'List the ports that are open for HTTP, at most 20',
    in: { params: sandboxParams },
    out: { 200: json('All of them, by number', portList) },
    problems: ['sandbox_not_found'],
    handle: async ({ deps, store, params }) => {
      const unreadable: Unreadable[] = [];
      const ports = await store.exposedPorts.of(params.id, unreadable);
      return answerList(
        ports.map((port) => portView(port, deps.portAddress)),
        unreadable,
      );
    },
  }),
  route('getPort', 'get', `${path}/{port}`, {
    scope: 'sandboxes:read',
    summary: 'Read how a port is open for HTTP',
    in: { params: portParams },
    out: { 200: json('It is open', portAnswer) },
    problems: ['sandbox_not_found', 'port_not_open'],
    handle: async ({ c, deps, params }) => portView(await requirePort(c, params), deps.portAddress),
  }),
  route('closePort', 'delete', `${path}/{port}`, {
    scope: 'sandboxes:write',
    summary: 'Close a port: what goes through it ends within a second, and its tokens are void',
    in: { params: portParams },
    out: { 204: { description: 'It is closed' } },
    problems: [SAGA, 'sandbox_not_found', 'port_not_open'],
    handle: async ({ c, store, params }) => {
      const { sandboxId, port } = await requirePort(c, params);
      await recordPort(c, 'port.closed', sandboxId, { port });
      await store.exposedPorts.close({ sandboxId, port });
      await awaitCacheExpiry();
    },
  }),
  route('issuePortToken', 'post', `${path}/{port}/tokens`, {
    scope: 'sandboxes:write',
    summary: 'Issue a token that lets whoever has it use the port until it expires',
    description: 'It ends with the key that asked for it, too.',
    in: { params: portParams, body: issueToken },
    out: { 201: json('The token, this once', tokenAnswer) },
    problems: [SAGA, 'sandbox_not_found', 'port_not_open', 'port_without_tokens'],
    handle: async ({ c, deps, params, body }) => {
      const opened = await requirePort(c, params);
      const issued = await issueTokenOf(c, opened, body.ttlSeconds);
      const url = `${deps.portAddress.originOf(opened)}/?${TOKEN_NAME}=${issued.token}`;
      return c.json({ ...issued, url }, 201, { 'Cache-Control': 'no-store' });
    },
  }),
  route('voidPortTokens', 'delete', `${path}/{port}/tokens`, {
    scope: 'sandboxes:write',
    summary: 'Void all tokens of a port: what goes through it by one of them ends within a second',
    in: { params: portParams },
    out: { 204: { description: 'They are void' } },
    problems: [SAGA, 'sandbox_not_found', 'port_not_open'],
    handle: async ({ c, store, params }) => {
      const { sandboxId, port } = await requirePort(c, params);
      await recordPort(c, 'port.tokens-voided', sandboxId, { port });
      await store.exposedPorts.resign({ sandboxId, port }, newPortSecret());
      await awaitCacheExpiry();
    },
  }),
];
