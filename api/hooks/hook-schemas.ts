import { z } from '@hono/zod-openapi';
import { RawJson } from '../../model/events/json/raw-json.ts';
import { functionName, pointer } from '../../model/functions/deploy-request.ts';
import { LIMITS } from '../../model/limits.ts';
import { idSchema, printable } from '../../model/request-fields.ts';
import { type HookRecord, hookRecord } from '../../model/webhooks/hook.ts';
import type { HmacScheme, SignatureScheme } from '../../model/webhooks/signature-scheme.ts';
import type { AppDeps } from '../http/context.ts';
import { strip } from '../schema/strip.ts';

const { hooks: limits } = LIMITS.functions;
const SCHEMES = [
  'standard-webhooks',
  'github',
  'stripe',
  'hmac',
  'bearer',
  'basic',
] as const satisfies readonly SignatureScheme['scheme'][];

export const hookParams = z.strictObject({
  id: idSchema('hook'),
});
export const hooksQuery = z.strictObject({ function: functionName });

const header = z
  .string()
  .max(64)
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'is no name of a header');
const hmac = z
  .strictObject({
    header: header.openapi({ example: 'X-Signature' }),
    prefix: printable(64, 0).default('').openapi({ description: 'Before the signature, such as `sha256=`' }),
    encoding: z.enum(['hex', 'base64', 'base64url']).default('hex'),
    algorithm: z.enum(['sha1', 'sha256', 'sha512']).default('sha256'),
    timestampHeader: header.optional().openapi({
      description: 'Where seconds since 1970 stand. With it, `<timestamp>.<body>` is signed; without, the body',
    }),
  })
  .openapi('HmacScheme');

const secrets = z
  .array(z.string().max(1_024).openapi({ format: 'password' }))
  .min(1)
  .max(limits.secrets)
  .openapi({ description: 'One; two while it is rotated. They are never answered' });

const value = printable(limits.valueLength);
const filter = z
  .strictObject({
    types: z.array(value).min(1).max(limits.values).optional().openapi({ description: 'Types of CloudEvents' }),
    conditions: z
      .array(
        z.strictObject({
          pointer,
          in: z
            .array(z.union([z.string().max(limits.valueLength), z.number(), z.boolean(), z.null()]))
            .min(1)
            .max(limits.values),
        }),
      )
      .max(limits.conditions)
      .default([]),
  })
  .openapi('HookFilter', { description: 'What is run: events of which all of this holds' });

const scheme = z.enum(SCHEMES).openapi({ description: 'How a sender shows who it is: docs/events.md' });

export const createHook = z
  .strictObject({
    function: functionName,
    scheme,
    hmac: hmac.optional(),
    secrets,
    filter: filter.optional(),
    allowedOrigins: z.array(value).max(limits.values).default([]).openapi({
      description: 'Who may ask by OPTIONS whether events may be sent, as CloudEvents has it; `*`: anybody',
    }),
  })
  .refine((hook) => (hook.scheme === 'hmac') === (hook.hmac !== undefined), {
    path: ['hmac'],
    message: 'must be set for the scheme `hmac`, and for no other',
  })
  .openapi('CreateHook');

export const rotateSecrets = z.strictObject({ secrets }).openapi('HookSecrets');

export const hookAnswer = hookRecord
  .omit({ secrets: true })
  .extend({
    path: z.string().openapi({ description: 'Where events are sent to' }),
    url: z.string().nullable().openapi({ description: 'The same as senders call it; null: at the address of the API' }),
    scheme,
    hmac: hmac.nullable(),
    secretCount: z.int(),
    filter: z
      .object({
        types: z.array(z.string()).nullable(),
        conditions: z.array(
          z.object({
            pointer: z.string(),
            in: z.array(
              z
                .unknown()
                .openapi({ anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }, { type: 'null' }] }),
            ),
          }),
        ),
      })
      .nullable(),
  })
  .openapi('Hook');

/** Returns the stored form of a scheme. */
export function schemeOf(request: Pick<z.output<typeof createHook>, 'scheme' | 'hmac'>): SignatureScheme {
  if (request.hmac) {
    const { timestampHeader, ...rest } = request.hmac;
    return { scheme: 'hmac', ...rest, ...(timestampHeader !== undefined && { timestampHeader }) };
  }
  return { scheme: request.scheme } as Exclude<SignatureScheme, HmacScheme>;
}

/** Returns the API's view of a hook; numbers of its filter are as sent. */
export function hookView(hook: HookRecord, { hookPlace }: Pick<AppDeps, 'hookPlace'>): z.input<typeof hookAnswer> {
  const { scheme: kept, filter: wanted } = hook;
  const path = `/h/${hook.id}`;
  const base = hookPlace?.url ?? null;
  const conditions = wanted?.conditions.map(({ pointer: at, in: texts }) => ({
    pointer: at,
    in: texts.map((text) => new RawJson(text)),
  }));
  return strip(hookAnswer, {
    ...hook,
    path,
    url: base === null ? null : new URL(path, base).href,
    scheme: kept.scheme,
    hmac: kept.scheme === 'hmac' ? kept : null,
    secretCount: hook.secrets.length,
    filter: wanted && { ...wanted, conditions: conditions ?? [] },
  });
}
