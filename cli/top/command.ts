import { flag } from '../terminal/arguments.ts';
import { customCommand } from '../terminal/command.ts';
import { findConnection } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { printOnce } from './plain.ts';

/** `mayfly top`: what lives, what is under way, what may be left. */
export const topCommand = customCommand({
  args: {
    once: flag('Print it once, as tables'),
    json: flag('Print it once, as one JSON document on stdout'),
  },
  async run({ io, args, connect }) {
    const client = connect();
    if (!args.once && !args.json && isScreen(io)) {
      const { runTop } = await import('./screen/run-top.ts');
      return runTop(io, client, findConnection(io.env).apiUrl);
    }
    await printOnce(io, client, args.json);
    return EXIT.ok;
  },
});

/** Whether somebody sees it, and has keys. */
function isScreen(io: Io): boolean {
  return io.isTerminal && process.stdout.isTTY && process.stdin.isTTY && io.env['TERM'] !== 'dumb';
}
