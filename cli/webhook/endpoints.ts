import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';
import { ENDPOINT, ENDPOINT_HEADER, endpointId, endpointLines, endpointRow } from './webhook-text.ts';

const ONE = { ...ENDPOINT, ...JSON_OPTION } as const satisfies ArgsDef;

/** `mayfly webhook list` */
export function listCommand(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List webhook endpoints, the oldest first' },
    args: LIST_OPTION,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, LIST_OPTION);
      const { webhookEndpoints } = connect(io);
      const table = { header: ENDPOINT_HEADER, row: endpointRow };
      await printList(io, args, table, ({ signal }) => webhookEndpoints.list(signal && { signal }));
      return EXIT.ok;
    },
  });
}

/** `mayfly webhook show` */
export function showCommand(io: Io) {
  return defineCommand({
    meta: { name: 'show', description: 'Show a webhook endpoint' },
    args: ONE,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ONE);
      const found = await connect(io).webhookEndpoints.get(endpointId(args.id), { signal: io.signal });
      if (args.json) io.printJson(found);
      else for (const line of endpointLines(io, found)) io.print(line);
      return EXIT.ok;
    },
  });
}

/** `mayfly webhook enable`: what was given up meanwhile is sent by `recover`. */
export function enableCommand(io: Io) {
  return defineCommand({
    meta: { name: 'enable', description: 'Have events sent again to an endpoint that was disabled' },
    args: ONE,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ONE);
      const id = endpointId(args.id);
      const found = await connect(io).webhookEndpoints.change(id, { disabled: false }, { signal: io.signal });
      if (args.json) io.printJson(found);
      else io.print(`${id} is sent events from now on; \`mayfly webhook recover ${id}\` sends what it has missed`);
      return EXIT.ok;
    },
  });
}

/** `mayfly webhook rotate`: the secret alone is on stdout. */
export function rotateCommand(io: Io) {
  return defineCommand({
    meta: { name: 'rotate', description: 'Give a webhook endpoint another secret; for 24 hours both sign' },
    args: ONE,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ONE);
      const made = await connect(io).webhookEndpoints.rotate(endpointId(args.id), { signal: io.signal });
      if (args.json) io.printJson(made);
      else {
        io.note(`${made.id}: for 24 hours the one before signs too`);
        io.print(made.secret ?? made.publicKeys[0] ?? '');
      }
      return EXIT.ok;
    },
  });
}

/** `mayfly webhook delete` */
export function deleteCommand(io: Io) {
  return defineCommand({
    meta: { name: 'delete', description: 'Delete a webhook endpoint, and what is to be sent to it' },
    args: ONE,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ONE);
      const id = endpointId(args.id);
      await connect(io).webhookEndpoints.delete(id, { signal: io.signal });
      if (args.json) io.printJson({ id, state: 'deleted' });
      else io.print(`${id} is deleted`);
      return EXIT.ok;
    },
  });
}
