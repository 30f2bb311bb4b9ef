import { z } from '@hono/zod-openapi';
import { LIMITS } from '../../model/limits.ts';
import { type ExposedPort, PORT_HOSTS, PORT_VISIBILITIES } from '../../model/ports/exposed-port.ts';
import type { PortAddress } from '../../model/ports/port-address.ts';
import { whole } from '../../model/request-fields.ts';
import { actor, instant, listOf, wholeText } from '../http/schemas.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';

const NUMBERS = { min: 1, max: 65_535 };

export const portParams = sandboxParams.extend({
  port: wholeText(NUMBERS.min, NUMBERS.max).openapi({
    description: 'Of TCP, not 22',
  }),
});

const port = whole(NUMBERS, 'a TCP port').openapi({ example: 3_000 });
const visibility = z.enum(PORT_VISIBILITIES).openapi({
  description: '`token`: who has a token of it. `project`: who sends an API key of its project in `X-Mayfly-Key`',
});
const host = z
  .enum(PORT_HOSTS)
  .openapi({ description: 'Which `Host` the program is told: `localhost:<port>`, or ours' });
const cors = z
  .boolean()
  .openapi({ description: "Pages of any origin may read its answers; the program's own CORS headers are replaced" });
const wake = z.boolean().openapi({ description: 'A request resumes the sandbox when it is paused or hibernated' });

export const openPort = z
  .strictObject({
    port,
    visibility: visibility.default('token'),
    host: host.default('localhost'),
    cors: cors.default(false),
    wake: wake.default(false),
  })
  .openapi('OpenPort');

export const portAnswer = z
  .object({
    sandboxId: z.string(),
    port,
    visibility,
    host,
    cors,
    wake,
    url: z.string().openapi({ example: 'https://3000-sbx-0123456789abcdef.sandboxes.example.net/' }),
    pathUrl: z.string().openapi({
      description:
        'The same where names below the common one lead nowhere; without cookies, and its pages have no origin',
    }),
    openedBy: actor,
    openedAt: instant,
  })
  .openapi('Port');

export const portList = listOf(portAnswer).openapi('PortList');

export const issueToken = z
  .strictObject({ ttlSeconds: whole(LIMITS.ports.tokenSeconds, 'seconds').default(LIMITS.ports.tokenSeconds.default) })
  .openapi('IssuePortToken');

export const tokenAnswer = z
  .object({
    id: z.string().openapi({ description: 'By which the audit calls it' }),
    token: z.string().openapi({ description: 'For `X-Mayfly-Token`, or once for `?mayfly-token=` of the URL' }),
    expiresAt: instant,
    url: z.string().openapi({ description: 'Of the port, with the token: what a browser is given' }),
  })
  .openapi('PortToken');

export function portView(
  { sandboxId, port: number, visibility: who, host: told, cors: isCors, wake: wakes, openedBy, openedAt }: ExposedPort,
  addresses: PortAddress,
): z.infer<typeof portAnswer> {
  const target = { sandboxId, port: number };
  const url = `${addresses.originOf(target)}/`;
  const pathUrl = addresses.pathUrlOf(target);
  const settings = { visibility: who, host: told, cors: isCors, wake: wakes };
  return { ...target, ...settings, url, pathUrl, openedBy, openedAt };
}
