import { z } from '@hono/zod-openapi';
import { LIMITS } from '../../model/limits.ts';
import { endpointId } from '../../model/request-fields.ts';
import {
  type EndpointRecord,
  endpointRecord,
  validSecrets,
  WEBHOOK_TYPES,
  webhookFormat,
  webhookSignature,
} from '../../model/webhooks/endpoint.ts';
import { endpointUrlProblem } from '../../services/webhooks/sending/endpoint-url.ts';
import { standardPublicKey } from '../../services/webhooks/signing/standard-key.ts';
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
  .openapi({ description: 'What is sent: docs/events.md', example: ['run.ended'] });
export const createEndpoint = z
  .strictObject({ url, types, format: webhookFormat.default('standard'), signature: webhookSignature.default('v1') })
  .openapi('CreateWebhookEndpoint');

export const changeEndpoint = z
  .strictObject({
    url: url.optional(),
    types: types.optional(),
    format: webhookFormat.optional(),
    disabled: z.boolean().optional().openapi({ description: 'false: events are sent again, from now on' }),
  })
  .refine((changes) => Object.values(changes).some((value) => value !== undefined), 'must change something')
  .openapi('ChangeWebhookEndpoint');

export const endpointAnswer = endpointRecord
  .omit({ secrets: true, slowed: true })
  .extend({
    publicKeys: z.array(z.string()).openapi({ description: '`whpk_…`, of `v1a`: those that hold, the newest first' }),
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

/** Returns an endpoint without its secrets. */
export function endpointView(endpoint: EndpointRecord): z.infer<typeof endpointAnswer> {
  const held = endpoint.signature === 'v1a' ? validSecrets(endpoint, Date.now()) : [];
  return strip(endpointAnswer, { ...endpoint, publicKeys: held.map(({ key }) => standardPublicKey(key)) });
}

/** Returns an endpoint with its newest secret. */
export function newEndpointView(endpoint: EndpointRecord): z.infer<typeof newEndpointAnswer> {
  const secret = endpoint.signature === 'v1' ? (endpoint.secrets[0]?.key ?? null) : null;
  return { ...endpointView(endpoint), secret };
}
