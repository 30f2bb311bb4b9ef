import type { Command } from '../../clients/typescript/http/openapi.ts';
import type { Commands } from '../../clients/typescript/sandbox/commands.ts';
import { isCommandId } from '../../model/ids.ts';
import { createCheck, idOrName, positional } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { command, customCommand, nounCommand, pagedCommand } from '../terminal/command.ts';
import { columns, type Io } from '../terminal/io.ts';
import { commandRow } from './command-text.ts';

const ONE_ARGS = {
  id: positional('Id or name of a sandbox'),
  command: positional('Command id'),
};

const HEADER = ['ID', 'STATE', 'TOOK', 'COMMAND'];

export const commandId = createCheck(isCommandId, 'is not a command id', 'List them with `mayfly command list`.');

/** `mayfly command`: finished and running commands of a sandbox. `mayfly run` starts one. */
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

  /** Prints the stored bytes unchanged: for pipes and files, also while the command runs. */
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

/** `mayfly logs`: output of a command, each stream to its own; Ctrl-C stops the output, never the command. */
export const logsCommand = customCommand({
  args: {
    id: positional('Id or name of a sandbox'),
    command: { type: 'positional', description: 'Command id; the latest when left out', required: false },
    follow: { type: 'boolean', alias: 'f', description: 'Go on until the command has ended', default: false },
  },
  async run({ io, args, connect }) {
    const { commands } = connect();
    const command = await chosen(io, commands, idOrName(args.id), args.command);
    if (args.follow) await printLive(io, commands, command);
    else await printKept(io, commands, command);
  },
});

async function chosen(io: Io, commands: Commands, sandbox: string, text: string | undefined): Promise<Command> {
  if (text) return commands.get(sandbox, commandId(text), { signal: io.signal });
  const [latest] = (await commands.list(sandbox, { limit: 1, signal: io.signal })).items;
  if (latest) return latest;
  throw usageError(`nothing was run in ${sandbox}`, 'Run something with `mayfly run`.');
}

async function printLive(io: Io, commands: Commands, { id, sandboxId: sandbox }: Command): Promise<void> {
  for await (const piece of commands.follow(sandbox, id, { signal: io.signal })) {
    if ('ended' in piece) return;
    await io.write(piece.stream, piece.bytes);
  }
}

async function printKept(io: Io, commands: Commands, { id, sandboxId: sandbox }: Command): Promise<void> {
  for (const stream of ['stdout', 'stderr'] as const) {
    const kept = await commands.output(sandbox, id, stream, { signal: io.signal });
    for await (const piece of kept) await io.write(stream, piece);
  }
}
