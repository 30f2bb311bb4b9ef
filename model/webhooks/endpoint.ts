import { z } from 'zod';
import { actor, encryptedField, instant } from '../fields.ts';

/** Event types for endpoints. */
export const WEBHOOK_TYPES = [
  'run.ended',
  'run.cleaned',
  'run.dead-lettered',
  'schedule.missed',
  'sandbox.running',
  'sandbox.paused',
  'sandbox.hibernated',
  'sandbox.destroyed',
  'sandbox.failed',
  'endpoint.disabled',
] as const;
export type WebhookType = (typeof WEBHOOK_TYPES)[number];

export const webhookFormat = z
  .enum(['standard', 'cloudevents'])
  .describe('`standard`: JSON `{type, timestamp, data}`. `cloudevents`: a CloudEvent 1.0 in structured mode');
export type WebhookFormat = z.infer<typeof webhookFormat>;

export const webhookSignature = z
  .enum(['v1', 'v1a'])
  .describe('Of Standard Webhooks. `v1`: HMAC-SHA256 with a secret. `v1a`: Ed25519, verified with a public key');
export type WebhookSignature = z.infer<typeof webhookSignature>;

const endpointSecret = z.object({
  key: z.string().describe('`whsec_…` or `whsk_…`'),
  until: instant.nullable().describe('Null: it is the one that holds'),
});

/** Destination for a project's events. */
export const endpointRecord = z.object({
  id: z.string(),
  project: z.string(),
  url: encryptedField(z.string()),
  types: z.array(z.enum(WEBHOOK_TYPES)),
  format: webhookFormat,
  signature: webhookSignature,
  secrets: encryptedField(z.array(endpointSecret)).describe('The newest first'),
  disabledAt: instant.nullable().describe('Null: events are sent'),
  disabledFor: z
    .enum(['gone', 'failures', 'request'])
    .nullable()
    .describe('`gone`: it answered 410. `failures`: nothing but failures came back. `request`: by a caller'),
  failingSince: instant
    .nullable()
    .describe('Since when nothing but failures came back; null: the last attempt was a success'),
  slowUntil: instant.nullable().describe('Nothing is sent before: it has said that it has too much'),
  slowed: z.int().describe('How often it was slowed down since its last success'),
  createdBy: actor,
  createdAt: instant,
  updatedAt: instant,
});
export type EndpointRecord = z.infer<typeof endpointRecord>;
export type DisabledFor = NonNullable<EndpointRecord['disabledFor']>;

/** Returns the valid secrets, newest first. @param now ms since 1970 */
export function validSecrets({ secrets }: Pick<EndpointRecord, 'secrets'>, now: number): EndpointRecord['secrets'] {
  return secrets.filter(({ until }) => until === null || Date.parse(until) > now);
}
