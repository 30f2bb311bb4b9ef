import { type ArgsDef, defineCommand } from 'citty';
import { isCommandId } from '../../model/ids.ts';
import { checkArguments, idOrName, JSON_OPTION } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { columns } from '../terminal/columns.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';
import { commandRow } from './command-text.ts';

const LIST_ARGS = {
  id: { type: 'positional', description: 'Id or name of a sandbox', required: true },
  ...LIST_OPTION,
} as const satisfies ArgsDef;

const ONE_ARGS = {
  id: { type: 'positional', description: 'Id or name of a sandbox', required: true },
  command: { type: 'positional', description: 'Command id', required: true },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

const OUTPUT_ARGS = {
  id: { type: 'positional', description: 'Id or name of a sandbox', required: true },
  command: { type: 'positional', description: 'Command id', required: true },
  stream: { type: 'enum', options: ['stdout', 'stderr'], description: 'Which of the two', default: 'stdout' },
} as const satisfies ArgsDef;

const HEADER = ['ID', 'STATE', 'TOOK', 'COMMAND'];

export function commandId(text: string): string {
  if (isCommandId(text)) return text;
  throw usageError(`${JSON.stringify(text)} is not a command id`, 'List them with `mayfly command list`.');
}

/** `mayfly command`: what ran, and runs, in a sandbox. `mayfly run` starts one. */
export function commandCommands(io: Io) {
  return defineCommand({
    subCommands: { list: listOf(io), get: getOne(io), output: outputOf(io), cancel: cancelOne(io) },
  });
}

function listOf(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List the commands of a sandbox, newest first' },
    args: LIST_ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, LIST_ARGS);
      const named = idOrName(args.id);
      const client = connect(io);
      const id = await client.sandboxIdOf(named, { signal: io.signal });
      await printList(io, args, { header: HEADER, row: commandRow }, (page) => client.commands.list(id, page));
      return EXIT.ok;
    },
  });
}

function getOne(io: Io) {
  return defineCommand({
    meta: { name: 'get', description: 'Show a command' },
    args: ONE_ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ONE_ARGS);
      const command = await connect(io).commands.get(idOrName(args.id), commandId(args.command), {
        signal: io.signal,
      });
      if (args.json) io.printJson(command);
      else for (const line of columns(HEADER, [commandRow(command)])) io.print(line);
      return EXIT.ok;
    },
  });
}

/** The bytes as they are kept: for pipes and files, also while the command runs. */
function outputOf(io: Io) {
  return defineCommand({
    meta: { name: 'output', description: 'Print what is kept of a stream, as it is now' },
    args: OUTPUT_ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, OUTPUT_ARGS);
      const { commands } = connect(io);
      const bytes = await commands.output(idOrName(args.id), commandId(args.command), args.stream, {
        signal: io.signal,
      });
      for await (const piece of bytes) await io.write('stdout', piece);
      return EXIT.ok;
    },
  });
}

function cancelOne(io: Io) {
  return defineCommand({
    meta: { name: 'cancel', description: 'End a command and all that it started' },
    args: ONE_ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ONE_ARGS);
      const { commands } = connect(io);
      const command = await commands.cancel(idOrName(args.id), commandId(args.command), { signal: io.signal });
      if (args.json) io.printJson(command);
      else
        io.print(command.state === 'ended' ? `${command.id} has ended: ${command.outcome}` : `${command.id} is ending`);
      return EXIT.ok;
    },
  });
}
