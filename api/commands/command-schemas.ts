import { z } from '@hono/zod-openapi';
import { LIMITS } from '../../model/limits.ts';
import {
  areVariablesPassable,
  argv,
  idSchema,
  intInRange,
  programText,
  VARIABLES_FIT,
  variableName,
  wellFormed,
} from '../../model/request-fields.ts';
import { commandRecord, commandSpec, END_SIGNALS } from '../../model/sandbox/command.ts';
import { instant, openapiExtras } from '../http/schemas.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';
import { eventData } from '../streams/event-stream.ts';

const { command: limits } = LIMITS;

const env = z
  .unknown()
  .superRefine((value, context) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
    // zod silently drops `__proto__` from records, so names are checked first.
    for (const name of Object.keys(value)) {
      if (name !== '__proto__' && variableName.safeParse(name).success) continue;
      context.addIssue({ code: 'custom', message: 'has a name that is not letters, digits and _ (first no digit)' });
    }
  })
  .pipe(
    z
      .record(z.string(), programText(limits.maxVariableBytes))
      .refine((record) => Object.keys(record).length <= limits.maxVariables, {
        message: `must have at most ${limits.maxVariables} entries`,
      })
      .refine(areVariablesPassable, VARIABLES_FIT),
  )
  .openapi({
    type: 'object',
    maxProperties: limits.maxVariables,
    ...openapiExtras({
      propertyNames: {
        type: 'string',
        maxLength: 255,
        pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
        not: { const: '__proto__' },
      },
    }),
    additionalProperties: { type: 'string', pattern: '^[^\\u0000]*$', maxLength: limits.maxVariableBytes },
  });

const absolutePath = programText(LIMITS.path.maxBytes)
  .refine((path) => path.startsWith('/'), 'must be an absolute path')
  .openapi({ pattern: '^/[^\\u0000]*$' });
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const base64 = z.string().regex(BASE64, 'must be base64 (RFC 4648 §4)');

export const startCommand = z
  .strictObject({
    command: programText(limits.maxLength).min(1).optional(),
    argv: argv.optional(),
    env: env.optional(),
    cwd: absolutePath.optional(),
    user: z
      .string()
      .regex(/^[a-z_][a-z0-9_-]{0,31}$/, 'must be the name of a user')
      .optional(),
    timeoutSeconds: intInRange(limits.timeoutSeconds, 'seconds').optional(),
    stdin: z.union([wellFormed, z.strictObject({ base64 })]).optional(),
    stdinOpen: z.boolean().optional(),
    maxOutputBytes: intInRange(limits.maxOutputBytes, 'bytes').optional(),
  })
  .refine(({ command, argv: words }) => (command === undefined) !== (words === undefined), {
    message: 'must have one of `command` and `argv`',
    path: ['command'],
  })
  .openapi('StartCommand', { oneOf: [{ required: ['command'] }, { required: ['argv'] }] });

export const commandParams = sandboxParams.extend({
  commandId: idSchema('command'),
});

/** Offset in an output stream, bytes. */
export const offset = z
  .string()
  .regex(/^\d{1,10}$/, 'must be a number of bytes')
  .transform(Number);
export const outputQuery = z.strictObject({
  stream: z.enum(['stdout', 'stderr']),
  offset: offset.optional(),
  limit: offset.optional(),
});
export const stdinQuery = z.strictObject({ offset: offset.optional(), close: z.enum(['true', 'false']).optional() });
export const cancelQuery = z.strictObject({
  signal: z
    .enum(END_SIGNALS)
    .default('SIGTERM')
    .openapi({ description: '`SIGPIPE`: the reader of the output has left' }),
});

/** Start of one stream: `text` where it is UTF-8, else `base64`. */
const outputStart = z.object({ text: z.string().optional(), base64: z.string().optional(), truncated: z.boolean() });

export const commandAnswer = commandRecord
  .omit({ installationId: true })
  .extend({
    spec: commandSpec.omit({ graceSeconds: true, isMasked: true }),
    output: z.object({ stdout: outputStart, stderr: outputStart }).optional().openapi({
      description: 'Only in the answer to POST, of a command that has ended: up to 64 KiB of each stream.',
    }),
  })
  .openapi('Command');

export const commandOutput = z
  .object({
    stream: z.enum(['stdout', 'stderr']),
    at: instant.openapi({ description: "By the guest's clock" }),
    offset: z.int().openapi({ description: 'Bytes of the stream before it' }),
    text: z.string().optional(),
    base64: z.string().optional(),
  })
  .openapi('CommandOutput', {
    oneOf: [{ required: ['text'] }, { required: ['base64'] }],
    description: '`text`, or `base64` where it is not UTF-8.',
  });

export const commandEvent = z
  .discriminatedUnion('event', [
    z.object({ event: z.literal('output'), id: z.string(), data: eventData('CommandOutput') }),
    z.object({ event: z.literal('ended'), data: eventData('Command') }),
  ])
  .openapi('CommandEvent', {
    description: '`output`: what the command wrote. `ended`: the last one, when all was sent.',
  });
