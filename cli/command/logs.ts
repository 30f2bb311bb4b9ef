import type { Command } from '../../clients/typescript/http/openapi.ts';
import type { Commands } from '../../clients/typescript/sandbox/commands.ts';
import { idOrName, positional } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { customCommand } from '../terminal/command.ts';
import type { Io } from '../terminal/io.ts';
import { commandId } from './commands.ts';

/** `mayfly logs`: what a command has written, each stream to its own; Ctrl-C ends the watching, never the command. */
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
