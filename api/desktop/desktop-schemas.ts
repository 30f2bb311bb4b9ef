import { z } from '@hono/zod-openapi';
import { startCommand } from '../commands/command-schemas.ts';
import { instant, keywords } from '../http/schemas.ts';
import { issueToken } from '../ports/port-schemas.ts';

export const actedAnswer = z.object({ width: z.int(), height: z.int() }).openapi('DesktopActed');

export const desktopAnswer = z
  .object({
    width: z.int(),
    height: z.int(),
    pointer: z.object({ x: z.int(), y: z.int() }),
    windows: z.array(
      z.object({
        id: z.string(),
        pid: z.int().nullable(),
        class: z.string(),
        title: z.string(),
        x: z.int(),
        y: z.int(),
        width: z.int(),
        height: z.int(),
        isActive: z.boolean(),
      }),
    ),
  })
  .openapi('Desktop');

export const openOnDesktop = z
  .strictObject({
    url: z
      .string()
      .max(4_096)
      .regex(/^(?:https?|file):\/\/[!-~]+$/, 'must be an address that begins with http://, https:// or file://')
      .optional(),
    argv: startCommand.shape.argv,
  })
  .refine(({ url, argv }) => (url === undefined) !== (argv === undefined), 'must have either url or argv')
  .openapi('OpenOnDesktop', keywords({ oneOf: [{ required: ['url'] }, { required: ['argv'] }] }));

export const openStreamRequest = z
  .strictObject({ mode: z.enum(['view', 'control']), ttlSeconds: issueToken.shape.ttlSeconds })
  .openapi('OpenDesktopStream');

export const streamAnswer = z
  .object({
    mode: z.enum(['view', 'control']),
    password: z.string().openapi({ description: 'What noVNC asks for; VNC programs too' }),
    port: z.int(),
    url: z.string().openapi({ description: 'Of noVNC, with a token: what a browser is given' }),
    expiresAt: instant,
  })
  .openapi('DesktopStream');
