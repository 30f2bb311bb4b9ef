import { z } from '@hono/zod-openapi';
import { LIMITS } from '../../model/limits.ts';
import { endpointId } from '../../model/request-fields.ts';
import {
  DISABLED_FOR,
  type EndpointRecord,
  validSecrets,
  WEBHOOK_FORMATS,
  WEBHOOK_SIGNATURES,
  WEBHOOK_TYPES,
} from '../../model/webhooks/endpoint.ts';
import { endpointUrlProblem } from '../../webhooks/sending/endpoint-url.ts';
import { standardPublicKey } from '../../webhooks/standard-key.ts';
import { actor, instant } from '../http/schemas.ts';
import { strip } from '../schema/strip.ts';

export const endpointParams = z.strictObject({ id: endpointId });

const url = z
  .string()
  .min(1)
  .max(LIMITS.webhooks.urlLength)
  .superRefine((text, context) => {
    const problem = endpointUrlProblem(text);
    if (problem !== null) context.addIssue({ code: 'custom', message: problem });
  })
  .openapi({
    format: 'uri',
    pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^/#@\\\\\\s][^#\\\\\\s]*$',
    example: 'https://example.com/mayfly',
    description: 'https or http. What its name leads to is judged each time that something is sent',
  });
const types = z
  .array(z.enum(WEBHOOK_TYPES))
  .min(1)
  .max(WEBHOOK_TYPES.length)
  .openapi({ description: 'What is sent: docs/webhooks.md', example: ['run.ended'] });
const format = z.enum(WEBHOOK_FORMATS).openapi({
  description: '`standard`: JSON `{type, timestamp, data}`. `cloudevents`: a CloudEvent 1.0 in structured mode',
});
const signature = z.enum(WEBHOOK_SIGNATURES).openapi({
  description: 'Of Standard Webhooks. `v1`: HMAC-SHA256 with a secret. `v1a`: Ed25519, verified with a public key',
});

export const createEndpoint = z
  .strictObject({ url, types, format: format.default('standard'), signature: signature.default('v1') })
  .openapi('CreateWebhookEndpoint');

export const changeEndpoint = z
  .strictObject({
    url: url.optional(),
    types: types.optional(),
    format: format.optional(),
    disabled: z.boolean().optional().openapi({ description: 'false: events are sent again, from now on' }),
  })
  .refine((changes) => Object.values(changes).some((value) => value !== undefined), 'must change something')
  .openapi('ChangeWebhookEndpoint');

export const endpointAnswer = z
  .object({
    id: z.string(),
    project: z.string(),
    url: z.string(),
    types: z.array(z.enum(WEBHOOK_TYPES)),
    format,
    signature,
    publicKeys: z.array(z.string()).openapi({ description: '`whpk_…`, of `v1a`: those that hold, the newest first' }),
    disabledAt: instant.nullable(),
    disabledFor: z.enum(DISABLED_FOR).nullable().openapi({
      description: '`gone`: it answered 410. `failures`: nothing but failures came back. `request`: by a caller',
    }),
    failingSince: instant.nullable(),
    slowUntil: instant.nullable().openapi({ description: 'Nothing is sent before: it has said that it has too much' }),
    createdBy: actor,
    createdAt: instant,
    updatedAt: instant,
  })
  .openapi('WebhookEndpoint');

export const newEndpointAnswer = endpointAnswer
  .extend({
    secret: z.string().nullable().openapi({
      format: 'password',
      description: '`whsec_…`, of `v1`: it is in this answer and nowhere else. null with `v1a`',
    }),
  })
  .openapi('NewWebhookEndpoint');

/** Without its secrets. */
export function endpointView(endpoint: EndpointRecord): z.infer<typeof endpointAnswer> {
  const held = endpoint.signature === 'v1a' ? validSecrets(endpoint, Date.now()) : [];
  return strip(endpointAnswer, { ...endpoint, publicKeys: held.map(({ key }) => standardPublicKey(key)) });
}

/** With the newest secret. */
export function newEndpointView(endpoint: EndpointRecord): z.infer<typeof newEndpointAnswer> {
  const secret = endpoint.signature === 'v1' ? (endpoint.secrets[0]?.key ?? null) : null;
  return { ...endpointView(endpoint), secret };
}
