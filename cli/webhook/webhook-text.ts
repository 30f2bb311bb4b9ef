import type { NewWebhookEndpoint, WebhookDelivery, WebhookEndpoint } from '../../clients/typescript/http/openapi.ts';
import { isDeliveryId, isEndpointId } from '../../model/ids.ts';
import { checked, positional } from '../terminal/arguments.ts';
import { recordLines } from '../terminal/columns.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';

export const ENDPOINT = {
  id: positional('Id of a webhook endpoint (`mayfly webhook list`)'),
};

export const endpointId = checked(
  isEndpointId,
  'is not the id of a webhook endpoint',
  'It is whe- and 16 characters. List them with `mayfly webhook list`.',
);

export const deliveryId = checked(
  isDeliveryId,
  'is not the id of a delivery',
  'It is dlv- and 16 characters. List them with `mayfly webhook deliveries`.',
);

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
  return recordLines(io, id, fields, 12);
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
