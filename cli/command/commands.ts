import { isCommandId } from '../../model/ids.ts';
import { checked, idOrName, positional } from '../terminal/arguments.ts';
import { columns } from '../terminal/columns.ts';
import { command, customCommand, nounCommand, pagedCommand } from '../terminal/command.ts';
import { commandRow } from './command-text.ts';

const ONE_ARGS = {
  id: positional('Id or name of a sandbox'),
  command: positional('Command id'),
};

const HEADER = ['ID', 'STATE', 'TOOK', 'COMMAND'];

export const commandId = checked(isCommandId, 'is not a command id', 'List them with `mayfly command list`.');

/** `mayfly command`: what ran, and runs, in a sandbox. `mayfly run` starts one. */
export const commandCommands = nounCommand({
  list: pagedCommand({
    description: 'List the commands of a sandbox, newest first',
    args: { id: positional('Id or name of a sandbox') },
    table: { header: HEADER, row: commandRow },
    async read({ io, args, connect }) {
      const named = idOrName(args.id);
      const client = connect();
      const id = await client.sandboxIdOf(named, { signal: io.signal });
      return (page) => client.commands.list(id, page);
    },
  }),
  get: command({
    description: 'Show a command',
    args: ONE_ARGS,
    call: ({ io, args, connect }) =>
      connect().commands.get(idOrName(args.id), commandId(args.command), {
        signal: io.signal,
      }),
    print: (_io, command) => columns(HEADER, [commandRow(command)]),
  }),

  /** The bytes as they are kept: for pipes and files, also while the command runs. */
  output: customCommand({
    description: 'Print what is kept of a stream, as it is now',
    args: {
      id: positional('Id or name of a sandbox'),
      command: positional('Command id'),
      stream: { type: 'enum', options: ['stdout', 'stderr'], description: 'Which of the two', default: 'stdout' },
    },
    async run({ io, args, connect }) {
      const { commands } = connect();
      const bytes = await commands.output(idOrName(args.id), commandId(args.command), args.stream, {
        signal: io.signal,
      });
      for await (const piece of bytes) await io.write('stdout', piece);
    },
  }),
  cancel: command({
    description: 'End a command and all that it started',
    args: ONE_ARGS,
    call: ({ args, connect, options }) =>
      connect().commands.cancel(idOrName(args.id), commandId(args.command), options),
    print: (_io, command) =>
      command.state === 'ended' ? `${command.id} has ended: ${command.outcome}` : `${command.id} is ending`,
  }),
});
