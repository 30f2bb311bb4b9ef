import { type ArgsDef, defineCommand } from 'citty';
import type { Command, Commands } from '../../client/sandbox/commands.ts';
import { checkArguments, idOrName } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { commandId } from './commands.ts';

const ARGS = {
  id: { type: 'positional', description: 'Id or name of a sandbox', required: true },
  command: { type: 'positional', description: 'Command id; the latest when left out', required: false },
  follow: { type: 'boolean', alias: 'f', description: 'Go on until the command has ended', default: false },
} as const satisfies ArgsDef;

/** `mayfly logs`: what a command has written, each stream to its own; Ctrl-C ends the watching, never the command. */
export function logsCommand(io: Io) {
  return defineCommand({
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const { commands } = connect(io);
      const command = await chosen(io, commands, idOrName(args.id), args.command);
      if (args.follow) await printLive(io, commands, command);
      else await printKept(io, commands, command);
      return EXIT.ok;
    },
  });
}

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
