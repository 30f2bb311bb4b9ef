import { z } from '@hono/zod-openapi';
import { LIMITS } from '../../model/limits.ts';
import { chordOf } from '../../services/desktop/keysyms.ts';
import { startCommand } from '../commands/command-schemas.ts';
import { instant, keywords, whole } from '../http/schemas.ts';
import { issueToken } from '../ports/port-schemas.ts';

const { coordinate, textLength, wheelSteps } = LIMITS.desktop;

const pixels = () => whole(coordinate, 'pixels');
const place = { x: pixels(), y: pixels() };
const button = z.enum(['left', 'middle', 'right']).default('left');
const steps = whole(wheelSteps, 'steps').default(0);
/** Of what a keyboard can say: no other control characters, and whole characters. */
const TYPED = /^(?:[\t\n\r]|[^\p{Cc}\p{Cs}])*$/u;

const typed = z
  .string()
  .min(1, 'must have at least 1 character')
  .max(textLength, `must have at most ${textLength} characters`)
  .regex(TYPED, 'must have no control characters but tabs and ends of lines, and be well-formed Unicode')
  .openapi({ pattern: '^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f]*$' });

const chord = z
  .string()
  .max(64)
  .refine((text) => chordOf(text) !== null, 'must be up to 5 keys, such as Enter, F5, ctrl+l or ctrl+shift+Tab')
  .openapi({ example: 'ctrl+l' });

export const desktopAction = z
  .discriminatedUnion('action', [
    z.strictObject({ action: z.literal('move'), ...place }),
    z.strictObject({ action: z.literal('click'), ...place, button, count: z.int().min(1).max(3).default(1) }),
    z.strictObject({ action: z.literal('drag'), ...place, toX: pixels(), toY: pixels(), button }),
    z.strictObject({ action: z.literal('scroll'), ...place, down: steps, right: steps }),
    z.strictObject({ action: z.literal('key'), keys: chord }),
    z.strictObject({ action: z.literal('type'), text: typed }),
  ])
  .openapi('DesktopAction');

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

export const openStream = z
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
