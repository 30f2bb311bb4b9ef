import { createRoute } from '@hono/zod-openapi';
import type { PortAddress } from '../../model/ports/port-address.ts';
import { awaitCacheExpiry } from '../../store/mongo/cache-lifetime.ts';
import type { Unreadable } from '../../store/sealed/sealed-fields.ts';
import { requires } from '../http/auth.ts';
import type { App } from '../http/context.ts';
import { BODY, problems, SAGA } from '../http/problem-answers.ts';
import { answerList, json, noQuery } from '../http/schemas.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';
import { ensureOpen, issueTokenOf, recordPort, requirePort } from './opened-port.ts';
import { issueToken, openPort, portAnswer, portList, portParams, portView, tokenAnswer } from './port-schemas.ts';
import { newPortSecret, TOKEN_NAME } from './port-token.ts';

const path = '/v1/sandboxes/{id}/ports';
const tags = ['ports'];
const writes = [requires('sandboxes:write')];
const reads = [requires('sandboxes:read')];

const openOne = createRoute({
  method: 'post',
  path,
  tags,
  operationId: 'openPort',
  summary: 'Open a port of the sandbox for HTTP, at a URL of its own',
  description:
    'HTTP, WebSocket and SSE, for who has a token of it (`POST …/tokens`), or a key of its project. The same again answers what ' +
    'is open. It ends with the sandbox; forks have none.',
  middleware: writes,
  request: {
    params: sandboxParams,
    query: noQuery,
    body: { required: true, content: { 'application/json': { schema: openPort } } },
  },
  responses: {
    200: json('It was open, with these settings', portAnswer),
    201: json('It is open', portAnswer),
    ...problems(
      BODY,
      SAGA,
      'policy_denied',
      'sandbox_not_found',
      'sandbox_ended',
      'port_refused',
      'port_open',
      'ports_full',
    ),
  },
});

const listAll = createRoute({
  method: 'get',
  path,
  tags,
  operationId: 'listPorts',
  summary: 'List the ports that are open for HTTP, at most 20',
  middleware: reads,
  request: { params: sandboxParams, query: noQuery },
  responses: { 200: json('All of them, by number', portList), ...problems('sandbox_not_found') },
});

const one = { path: `${path}/{port}`, tags, request: { params: portParams, query: noQuery } } as const;

const getOne = createRoute({
  ...one,
  method: 'get',
  operationId: 'getPort',
  summary: 'Read how a port is open for HTTP',
  middleware: reads,
  responses: { 200: json('It is open', portAnswer), ...problems('sandbox_not_found', 'port_not_open') },
});

const closeOne = createRoute({
  ...one,
  method: 'delete',
  operationId: 'closePort',
  summary: 'Close a port: what goes through it ends within a second, and its tokens are void',
  middleware: writes,
  responses: { 204: { description: 'It is closed' }, ...problems(SAGA, 'sandbox_not_found', 'port_not_open') },
});

const ofTokens = { ...one, path: `${path}/{port}/tokens`, middleware: writes } as const;

const issueOne = createRoute({
  ...ofTokens,
  method: 'post',
  operationId: 'issuePortToken',
  summary: 'Issue a token that lets whoever has it use the port until it expires',
  description: 'It ends with the key that asked for it, too.',
  request: { ...ofTokens.request, body: { required: false, content: { 'application/json': { schema: issueToken } } } },
  responses: {
    201: json('The token, this once', tokenAnswer),
    ...problems(BODY, SAGA, 'sandbox_not_found', 'port_not_open', 'port_without_tokens'),
  },
});

const voidAll = createRoute({
  ...ofTokens,
  method: 'delete',
  operationId: 'voidPortTokens',
  summary: 'Void all tokens of a port: what goes through it by one of them ends within a second',
  responses: { 204: { description: 'They are void' }, ...problems(SAGA, 'sandbox_not_found', 'port_not_open') },
});

/** @param addresses where open ports are found */
export function openPortRoutes(app: App, addresses: PortAddress): void {
  app.openapi(openOne, async (c) => {
    const { port, ...settings } = c.req.valid('json');
    const { opened, isNew } = await ensureOpen(c, { sandboxId: c.req.valid('param').id, port }, settings);
    return c.json(portView(opened, addresses), isNew ? 201 : 200);
  });
  app.openapi(listAll, async (c) => {
    const unreadable: Unreadable[] = [];
    const ports = await c.get('deps').store.exposedPorts.of(c.req.valid('param').id, unreadable);
    return c.json(
      answerList(
        ports.map((port) => portView(port, addresses)),
        unreadable,
      ),
      200,
    );
  });
  app.openapi(getOne, async (c) => c.json(portView(await requirePort(c, c.req.valid('param')), addresses), 200));
  app.openapi(closeOne, async (c) => {
    const { sandboxId, port } = await requirePort(c, c.req.valid('param'));
    await recordPort(c, 'port.closed', sandboxId, { port });
    await c.get('deps').store.exposedPorts.close({ sandboxId, port });
    await awaitCacheExpiry();
    return c.body(null, 204);
  });
  app.openapi(issueOne, async (c) => {
    const opened = await requirePort(c, c.req.valid('param'));
    const issued = await issueTokenOf(c, opened, c.req.valid('json').ttlSeconds);
    const url = `${addresses.originOf(opened)}/?${TOKEN_NAME}=${issued.token}`;
    return c.json({ ...issued, url }, 201, { 'Cache-Control': 'no-store' });
  });
  app.openapi(voidAll, async (c) => {
    const { sandboxId, port } = await requirePort(c, c.req.valid('param'));
    await recordPort(c, 'port.tokens-voided', sandboxId, { port });
    await c.get('deps').store.exposedPorts.resign({ sandboxId, port }, newPortSecret());
    await awaitCacheExpiry();
    return c.body(null, 204);
  });
}
