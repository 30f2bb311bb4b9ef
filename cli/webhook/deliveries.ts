import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';
import { DELIVERY_HEADER, deliveryId, deliveryRow, ENDPOINT, endpointId } from './webhook-text.ts';

const LIST = { ...ENDPOINT, ...LIST_OPTION } as const satisfies ArgsDef;
const ONE = {
  ...ENDPOINT,
  delivery: { type: 'positional', description: 'Id of a delivery (`mayfly webhook deliveries`)', required: true },
  ...JSON_OPTION,
} as const satisfies ArgsDef;
const RECOVER = {
  ...ENDPOINT,
  since: { type: 'string', valueHint: '2026-01-31T08:00:00Z', description: 'Events of then or later (default: all)' },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly webhook deliveries` */
export function deliveriesCommand(io: Io) {
  return defineCommand({
    meta: { name: 'deliveries', description: 'List what was sent to a webhook endpoint, newest first' },
    args: LIST,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, LIST);
      const id = endpointId(args.id);
      const { webhookEndpoints } = connect(io);
      const table = { header: DELIVERY_HEADER, row: deliveryRow };
      await printList(io, args, table, (page) => webhookEndpoints.deliveries(id, page));
      return EXIT.ok;
    },
  });
}

/** `mayfly webhook redeliver` */
export function redeliverCommand(io: Io) {
  return defineCommand({
    meta: { name: 'redeliver', description: 'Send it again, now, under the same id' },
    args: ONE,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ONE);
      const [endpoint, delivery] = [endpointId(args.id), deliveryId(args.delivery)];
      const found = await connect(io).webhookEndpoints.redeliver(endpoint, delivery, { signal: io.signal });
      if (args.json) io.printJson(found);
      else io.print(`${delivery} is sent again`);
      return EXIT.ok;
    },
  });
}

/** `mayfly webhook recover` */
export function recoverCommand(io: Io) {
  return defineCommand({
    meta: { name: 'recover', description: 'Send all again that were given up' },
    args: RECOVER,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, RECOVER);
      const since = new Date(args.since ?? 0);
      if (Number.isNaN(since.getTime())) {
        throw usageError(`${JSON.stringify(args.since)} is no time`, 'Such as 2026-01-31T08:00:00Z.');
      }
      const count = await connect(io).webhookEndpoints.recover(endpointId(args.id), since, { signal: io.signal });
      if (args.json) io.printJson({ count });
      else io.print(`${count} are sent again`);
      return EXIT.ok;
    },
  });
}
