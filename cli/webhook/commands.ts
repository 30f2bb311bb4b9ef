import type { NewWebhookEndpoint, WebhookDelivery, WebhookEndpoint } from '../../clients/typescript/http/openapi.ts';
import { isDeliveryId, isEndpointId } from '../../model/ids.ts';
import { WEBHOOK_TYPES, type WebhookType, webhookFormat, webhookSignature } from '../../model/webhooks/endpoint.ts';
import { createCheck, option, positional } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { command, nounCommand, pagedCommand } from '../terminal/command.ts';
import { type Io, printable, recordLines } from '../terminal/io.ts';

export const ENDPOINT = {
  id: positional('Id of a webhook endpoint (`mayfly webhook list`)'),
};

export const endpointId = createCheck(
  isEndpointId,
  'is not the id of a webhook endpoint',
  'It is whe- and 16 characters. List them with `mayfly webhook list`.',
);

export const deliveryId = createCheck(
  isDeliveryId,
  'is not the id of a delivery',
  'It is dlv- and 16 characters. List them with `mayfly webhook deliveries`.',
);

export const ENDPOINT_HEADER = ['ID', 'STATE', 'TYPES', 'URL'];

export function endpointRow(endpoint: WebhookEndpoint): string[] {
  return [endpoint.id, stateOf(endpoint), endpoint.types.join(','), printable(endpoint.url)];
}

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

/** @throws CliError */
function typesOf(text: string): WebhookType[] {
  return text.split(',').map((given) => {
    const type = WEBHOOK_TYPES.find((each) => each === given.trim());
    if (type) return type;
    throw usageError(`${JSON.stringify(given)} is no type of webhooks`, `They are ${WEBHOOK_TYPES.join(', ')}.`);
  });
}

/** `mayfly webhook create|list|get|enable|rotate|delete`, and for deliveries `deliveries|redeliver|recover` */
export const webhookCommand = nounCommand({
  /** Prints only the secret on stdout. */
  create: command({
    description: 'Have events of the project sent to a URL; prints what verifies them',
    args: {
      url: positional('Where events are sent to'),
      types: {
        type: 'string',
        valueHint: 'run.ended,run.cleaned',
        description: `Which ones: ${WEBHOOK_TYPES.join(', ')}`,
        default: 'run.ended',
      },
      format: { type: 'enum', options: [...webhookFormat.options], description: 'How they look', default: 'standard' },
      signature: {
        type: 'enum',
        options: [...webhookSignature.options],
        description: 'How they are signed',
        default: 'v1',
      },
    },
    async call({ args, connect, options }) {
      const { url, format, signature } = args;
      const wish = { url, types: typesOf(args.types), format, signature };
      return connect().webhookEndpoints.create(wish, options);
    },
    print(io, made) {
      io.note(`${made.id}: keep this, nothing shows a secret again`);
      io.print(made.secret ?? made.publicKeys[0] ?? '');
    },
  }),
  list: pagedCommand({
    description: 'List webhook endpoints, the oldest first',
    table: { header: ENDPOINT_HEADER, row: endpointRow },
    read: ({ connect, options }) => connect().webhookEndpoints.list(options),
  }),
  get: command({
    description: 'Show a webhook endpoint',
    args: ENDPOINT,
    call: ({ args, connect, options }) => connect().webhookEndpoints.get(endpointId(args.id), options),
    print: endpointLines,
  }),
  /** `recover` sends the deliveries missed in between. */
  enable: command({
    description: 'Have events sent again to an endpoint that was disabled',
    args: ENDPOINT,
    async call({ args, connect, options }) {
      const id = endpointId(args.id);
      return connect().webhookEndpoints.change(id, { disabled: false }, options);
    },
    print: (_io, { id }) =>
      `${id} is sent events from now on; \`mayfly webhook recover ${id}\` sends what it has missed`,
  }),
  /** Prints only the secret on stdout. */
  rotate: command({
    description: 'Give a webhook endpoint another secret; for 24 hours both sign',
    args: ENDPOINT,
    call: ({ args, connect, options }) => connect().webhookEndpoints.rotate(endpointId(args.id), options),
    print(io, made) {
      io.note(`${made.id}: for 24 hours the one before signs too`);
      io.print(made.secret ?? made.publicKeys[0] ?? '');
    },
  }),
  delete: command({
    description: 'Delete a webhook endpoint, and what is to be sent to it',
    args: ENDPOINT,
    async call({ args, connect, options }) {
      const id = endpointId(args.id);
      await connect().webhookEndpoints.delete(id, options);
      return { id, state: 'deleted' };
    },
    print: (_io, { id }) => `${id} is deleted`,
  }),
  deliveries: pagedCommand({
    description: 'List what was sent to a webhook endpoint, newest first',
    args: ENDPOINT,
    table: { header: DELIVERY_HEADER, row: deliveryRow },
    read({ args, connect }) {
      const id = endpointId(args.id);
      return (page) => connect().webhookEndpoints.deliveries(id, page);
    },
  }),
  redeliver: command({
    description: 'Send it again, now, under the same id',
    args: {
      ...ENDPOINT,
      delivery: positional('Id of a delivery (`mayfly webhook deliveries`)'),
    },
    async call({ args, connect, options }) {
      const [endpoint, delivery] = [endpointId(args.id), deliveryId(args.delivery)];
      return connect().webhookEndpoints.redeliver(endpoint, delivery, options);
    },
    print: (_io, _found, { delivery }) => `${delivery} is sent again`,
  }),
  recover: command({
    description: 'Send all again that were given up',
    args: {
      ...ENDPOINT,
      since: option('Events of then or later (default: all)', '2026-01-31T08:00:00Z'),
    },
    async call({ args, connect, options }) {
      const since = new Date(args.since ?? 0);
      if (Number.isNaN(since.getTime())) {
        throw usageError(`${JSON.stringify(args.since)} is no time`, 'Such as 2026-01-31T08:00:00Z.');
      }
      const count = await connect().webhookEndpoints.recover(endpointId(args.id), since, options);
      return { count };
    },
    print: (_io, { count }) => `${count} are sent again`,
  }),
});
