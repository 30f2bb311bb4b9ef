import type { ArgsDef } from 'citty';
import type { NewWebhookEndpoint, WebhookDelivery, WebhookEndpoint } from '../../client/webhooks/webhook-endpoints.ts';
import { isDeliveryId, isEndpointId } from '../../model/ids.ts';
import { usageError } from '../terminal/cli-error.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';

export const ENDPOINT = {
  id: { type: 'positional', description: 'Id of a webhook endpoint (`mayfly webhook list`)', required: true },
} as const satisfies ArgsDef;

/** @throws CliError when `text` is not the id of a webhook endpoint */
export function endpointId(text: string): string {
  if (isEndpointId(text)) return text;
  const what = `${JSON.stringify(text)} is not the id of a webhook endpoint`;
  throw usageError(what, 'It is whe- and 16 characters. List them with `mayfly webhook list`.');
}

/** @throws CliError when `text` is not the id of a delivery */
export function deliveryId(text: string): string {
  if (isDeliveryId(text)) return text;
  const what = `${JSON.stringify(text)} is not the id of a delivery`;
  throw usageError(what, 'It is dlv- and 16 characters. List them with `mayfly webhook deliveries`.');
}

export const ENDPOINT_HEADER = ['ID', 'STATE', 'TYPES', 'URL'];

export function endpointRow(endpoint: WebhookEndpoint): string[] {
  return [endpoint.id, stateOf(endpoint), endpoint.types.join(','), printable(endpoint.url)];
}

/** An endpoint as a person reads it. */
export function endpointLines(io: Io, endpoint: WebhookEndpoint | NewWebhookEndpoint): string[] {
  const { id, url, types, format, signature, publicKeys, createdAt } = endpoint;
  const fields: [string, string][] = [
    ['url', url],
    ['state', stateOf(endpoint)],
    ['types', types.join(', ')],
    ['format', format],
    ['signature', signature],
    ...publicKeys.map((key): [string, string] => ['public key', key]),
    ['created', createdAt],
  ];
  return [io.paint('bold', id), ...fields.map(([field, value]) => `  ${field.padEnd(12)}${printable(value)}`)];
}

export const DELIVERY_HEADER = ['ID', 'TYPE', 'STATE', 'ATTEMPTS', 'LAST', 'NEXT', 'CREATED'];

export function deliveryRow({ id, type, state, attempts, dueAt, createdAt }: WebhookDelivery): string[] {
  const last = attempts.at(-1);
  const came = last ? (last.reason ?? `${last.status} in ${last.latencyMs} ms`) : '-';
  return [id, type, state, String(attempts.length), printable(came), dueAt ?? '-', createdAt];
}

function stateOf({ disabledAt, disabledFor, failingSince }: WebhookEndpoint): string {
  if (disabledAt !== null) return `disabled (${disabledFor})`;
  return failingSince === null ? 'enabled' : `failing since ${failingSince}`;
}
