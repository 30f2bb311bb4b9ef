import { type ArgsDef, defineCommand } from 'citty';
import { readConfig } from '../../worker/config/config.ts';
import { checkArguments } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { watchStop } from '../terminal/watch-stop.ts';

const ARGS = {
  process: { type: 'positional', description: 'api, control, host or proxy', required: true },
} as const satisfies ArgsDef;

function nameOf(text: string): 'api' | 'control' | 'host' | 'proxy' {
  if (text === 'api' || text === 'control' || text === 'host' || text === 'proxy') return text;
  throw usageError(`there is no process ${JSON.stringify(text)}`, 'Use api, control, host or proxy.');
}

/** `mayfly serve`: one process alone, for installations over several machines. */
export function serveCommand(io: Io) {
  return defineCommand({
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const name = nameOf(args.process);
      const { serve } = await import('../../worker/serve.ts');
      await serve(name, readConfig(io.env), io.signal, watchStop(io).closers);
      return EXIT.ok;
    },
  });
}
