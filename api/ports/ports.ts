import { createRoute, z } from '@hono/zod-openapi';
import { requires } from '../http/auth.ts';
import { type App, serialised } from '../http/context.ts';
import { GUEST, problems } from '../http/problem-answers.ts';
import { noQuery, preferHeaders } from '../http/schemas.ts';
import type { KeyWatch } from '../streams/key-watch.ts';
import { answerConnect } from './connect-port.ts';
import { portParams } from './port-schemas.ts';
import { SaidConnections } from './said-connections.ts';

const PIECES = 'application/octet-stream';
const pieces = z.string().openapi({ format: 'binary' });
const tags = ['ports'];

const connectOne = createRoute({
  method: 'post',
  path: '/v1/sandboxes/{id}/ports/{port}/connect',
  tags,
  operationId: 'connectPort',
  summary: "Open a TCP connection to a port of the sandbox's loopback",
  description:
    'Both bodies are open until both sides have ended. Each is pieces: four bytes of length (big-endian, at most 1 MiB) and so ' +
    'many bytes; length 0 says that nothing more comes this way, 2³² − 1 nothing at all; a body that ends without 0 was cut off.',
  middleware: [requires('sandboxes:write')],
  request: {
    params: portParams,
    query: noQuery,
    headers: preferHeaders,
    body: { required: true, content: { [PIECES]: { schema: pieces } } },
  },
  responses: {
    200: { description: 'It is open: what the program writes', content: { [PIECES]: { schema: pieces } } },
    ...problems('policy_denied', GUEST, 'port_closed', 'port_refused'),
  },
});

export function portRoutes(app: App, keys: KeyWatch): void {
  const said = new SaidConnections();
  app.openapi(connectOne, async (c) => {
    const { id, port } = c.req.valid('param');
    return serialised(await answerConnect(c, c.get('deps'), { sandboxId: id, port, said, keys }));
  });
}
