import { z } from '@hono/zod-openapi';
import { LIMITS } from '../../model/limits.ts';
import { type ExposedPort, exposedPort } from '../../model/ports/exposed-port.ts';
import type { PortAddress } from '../../model/ports/port-address.ts';
import { intInRange } from '../../model/request-fields.ts';
import { instant, intParam, listOf } from '../http/schemas.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';
import { strip } from '../schema/strip.ts';

const NUMBERS = { min: 1, max: 65_535 };

export const portParams = sandboxParams.extend({
  port: intParam(NUMBERS.min, NUMBERS.max).openapi({
    description: 'Of TCP, not 22',
  }),
});

const port = intInRange(NUMBERS, 'a TCP port').openapi({ example: 3_000 });
const { visibility, host, cors, wake } = exposedPort.shape;

export const openPort = z
  .strictObject({
    port,
    visibility: visibility.default('token'),
    host: host.default('localhost'),
    cors: cors.default(false),
    wake: wake.default(false),
  })
  .openapi('OpenPort');

export const portAnswer = exposedPort
  .omit({ project: true, secret: true })
  .extend({
    port,
    url: z.string().openapi({ example: 'https://3000-sbx-0123456789abcdef.sandboxes.example.net/' }),
    pathUrl: z.string().openapi({
      description:
        'The same where names below the common one lead nowhere; without cookies, and its pages have no origin',
    }),
  })
  .openapi('Port');

export const portList = listOf(portAnswer).openapi('PortList');

export const issueToken = z
  .strictObject({
    ttlSeconds: intInRange(LIMITS.ports.tokenSeconds, 'seconds').default(LIMITS.ports.tokenSeconds.default),
  })
  .openapi('IssuePortToken');

export const tokenAnswer = z
  .object({
    id: z.string().openapi({ description: 'By which the audit calls it' }),
    token: z.string().openapi({ description: 'For `X-Mayfly-Token`, or once for `?mayfly-token=` of the URL' }),
    expiresAt: instant,
    url: z.string().openapi({ description: 'Of the port, with the token: what a browser is given' }),
  })
  .openapi('PortToken');

export function portView(record: ExposedPort, addresses: PortAddress): z.infer<typeof portAnswer> {
  const url = `${addresses.originOf(record)}/`;
  return strip(portAnswer, { ...record, url, pathUrl: addresses.pathUrlOf(record) });
}
