import type { Actor } from '../sandbox/sandbox.ts';

/** What endpoints can be told of. */
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

/** `standard`: `{type, timestamp, data}` of Standard Webhooks. `cloudevents`: a CloudEvent 1.0 in structured mode. */
export const WEBHOOK_FORMATS = ['standard', 'cloudevents'] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

/** Of Standard Webhooks. `v1`: HMAC-SHA256. `v1a`: Ed25519. */
export const WEBHOOK_SIGNATURES = ['v1', 'v1a'] as const;
export type WebhookSignature = (typeof WEBHOOK_SIGNATURES)[number];

/** Why none is sent: it answered 410, or nothing but failures, or its owner wants none. */
export const DISABLED_FOR = ['gone', 'failures', 'request'] as const;
export type DisabledFor = (typeof DISABLED_FOR)[number];

/** What signs, and until when. */
interface EndpointSecret {
  /** `whsec_…` or `whsk_…`. */
  key: string;
  /** ISO 8601; null: it is the one that holds. */
  until: string | null;
}

/** Where events of a project are sent to. */
export interface EndpointRecord {
  id: string;
  project: string;
  url: string;
  types: WebhookType[];
  format: WebhookFormat;
  signature: WebhookSignature;
  /** The newest first. */
  secrets: EndpointSecret[];
  /** ISO 8601; null: events are sent. */
  disabledAt: string | null;
  disabledFor: DisabledFor | null;
  /** Since when nothing but failures came back. ISO 8601; null: the last attempt was a success. */
  failingSince: string | null;
  /** Nothing is sent before. ISO 8601. */
  slowUntil: string | null;
  /** How often it was slowed down since its last success. */
  slowed: number;
  createdBy: Actor;
  createdAt: string;
  updatedAt: string;
}

/** Those that hold, the newest first. @param now milliseconds since 1970 */
export function validSecrets({ secrets }: Pick<EndpointRecord, 'secrets'>, now: number): EndpointSecret[] {
  return secrets.filter(({ until }) => until === null || Date.parse(until) > now);
}
