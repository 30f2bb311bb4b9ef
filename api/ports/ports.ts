import { z } from '@hono/zod-openapi';
import { recordAccess } from '../../services/audit/record-access.ts';
import { connectPort } from '../../services/ports/connect-port.ts';
import {
  closePort,
  ensureOpen,
  issueTokenOf,
  refuseSsh,
  requirePort,
  voidPortTokens,
} from '../../services/ports/opened-port.ts';
import { TOKEN_NAME } from '../../services/ports/port-token.ts';
import { assertPortTypingAllowed } from '../../services/ports/refuse-typing.ts';
import type { Unreadable } from '../../store/sealed/sealed-fields.ts';
import { type Route, reply, routeOf } from '../http/route.ts';
import { answerList, GUEST, json, preferHeaders, SAGA } from '../http/schemas.ts';
import { sandboxOfPath, wakeAndTouch } from '../resources/entered-sandbox.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';
import { issueToken, openPort, portAnswer, portList, portParams, portView, tokenAnswer } from './port-schemas.ts';

const route = routeOf('ports');

const path = '/v1/sandboxes/{id}/ports';
const PIECES = 'application/octet-stream';
const pieces = z.string().openapi({ format: 'binary' });

export const portRoutes: Route[] = [
  route('createPort', 'post', path, {
    scope: 'sandboxes:write',
    summary: 'Open a port of the sandbox for HTTP, at a URL of its own',
    description:
      'HTTP, WebSocket and SSE, for who has a token of it (`POST …/tokens`), or a key of its project. The same again answers what ' +
      'is open. It ends with the sandbox; forks have none.',
    in: { params: sandboxParams, body: openPort },
    out: { 200: json('It was open, with these settings', portAnswer), 201: json('It is open', portAnswer) },
    problems: [SAGA, 'policy_denied', 'sandbox_not_found', 'sandbox_ended', 'port_refused', 'port_open', 'ports_full'],
    handle: async ({ deps, actor, params, body: { port, ...settings } }) => {
      const { opened, isNew } = await ensureOpen(deps, actor, { sandboxId: params.id, port }, settings);
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
    handle: async ({ deps, params: { id: sandboxId, port } }) =>
      portView(await requirePort(deps, { sandboxId, port }), deps.portAddress),
  }),
  route('deletePort', 'delete', `${path}/{port}`, {
    scope: 'sandboxes:write',
    summary: 'Close a port: what goes through it ends within a second, and its tokens are void',
    in: { params: portParams },
    out: { 204: { description: 'It is closed' } },
    problems: [SAGA, 'sandbox_not_found', 'port_not_open'],
    handle: ({ deps, actor, params: { id: sandboxId, port } }) => closePort(deps, actor, { sandboxId, port }),
  }),
  route('createPortToken', 'post', `${path}/{port}/tokens`, {
    scope: 'sandboxes:write',
    summary: 'Issue a token that lets whoever has it use the port until it expires',
    description: 'It ends with the key that asked for it, too.',
    in: { params: portParams, body: issueToken },
    out: { 201: json('The token, this once', tokenAnswer) },
    problems: [SAGA, 'sandbox_not_found', 'port_not_open', 'port_without_tokens'],
    handle: async ({ c, deps, actor, params: { id: sandboxId, port }, body }) => {
      const opened = await requirePort(deps, { sandboxId, port });
      const issued = await issueTokenOf(deps, actor, opened, body.ttlSeconds);
      const url = `${deps.portAddress.originOf(opened)}/?${TOKEN_NAME}=${issued.token}`;
      return c.json({ ...issued, url }, 201, { 'Cache-Control': 'no-store' });
    },
  }),
  route('deletePortTokens', 'delete', `${path}/{port}/tokens`, {
    scope: 'sandboxes:write',
    summary: 'Void all tokens of a port: what goes through it by one of them ends within a second',
    in: { params: portParams },
    out: { 204: { description: 'They are void' } },
    problems: [SAGA, 'sandbox_not_found', 'port_not_open'],
    handle: ({ deps, actor, params: { id: sandboxId, port } }) => voidPortTokens(deps, actor, { sandboxId, port }),
  }),
  route('connectPort', 'post', `${path}/{port}/connect`, {
    scope: 'sandboxes:write',
    summary: "Open a TCP connection to a port of the sandbox's loopback",
    description:
      'Both bodies are open until both sides have ended. Each is pieces: four bytes of length (big-endian, at most 1 MiB) and so ' +
      'many bytes; length 0 says that nothing more comes this way, 2³² − 1 nothing at all; a body that ends without 0 was cut off.',
    limit: null,
    in: {
      params: portParams,
      headers: preferHeaders,
      media: { required: true, content: { [PIECES]: { schema: pieces } } },
    },
    out: { 200: { description: 'It is open: what the program writes', content: { [PIECES]: { schema: pieces } } } },
    problems: ['policy_denied', GUEST, 'port_closed', 'port_refused'],
    handle: async ({ c, deps, actor, params: { id, port } }) => {
      refuseSsh(port);
      await assertPortTypingAllowed(port, deps, (await sandboxOfPath(c, id)).project);
      const { hostId, signal: left } = await wakeAndTouch(c, id);
      await deps.connections.once({ by: actor.apiKeyId, sandboxId: id, port }, () =>
        recordAccess(deps, id, { kind: 'port.connected', actor, hostId, detail: { port } }),
      );
      const connection = { sandboxId: id, hostId, port, body: c.req.raw.body, left };
      const bytes = await connectPort(deps, deps.streams.keys, c.var, connection);
      return c.body(bytes, 200, { 'Content-Type': PIECES, 'Cache-Control': 'no-store' });
    },
  }),
];
