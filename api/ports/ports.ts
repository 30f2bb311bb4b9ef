import { z } from '@hono/zod-openapi';
import { GUEST } from '../http/problem-answers.ts';
import { type Route, routeOf } from '../http/route.ts';
import { preferHeaders } from '../http/schemas.ts';
import { answerConnect } from './connect-port.ts';
import { portParams } from './port-schemas.ts';

const route = routeOf('ports');

const PIECES = 'application/octet-stream';
const pieces = z.string().openapi({ format: 'binary' });

export const portRoutes: Route[] = [
  route('connectPort', 'post', '/v1/sandboxes/{id}/ports/{port}/connect', {
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
    handle: ({ c, deps, params: { id, port } }) => answerConnect(c, deps, { sandboxId: id, port }),
  }),
];
