import { readConfig } from '../../worker/config/config.ts';
import { positional } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { customCommand } from '../terminal/command.ts';
import { watchStop } from '../terminal/watch-stop.ts';

function nameOf(text: string): 'api' | 'control' | 'host' | 'proxy' {
  if (text === 'api' || text === 'control' || text === 'host' || text === 'proxy') return text;
  throw usageError(`there is no process ${JSON.stringify(text)}`, 'Use api, control, host or proxy.');
}

/** `mayfly serve`: one process alone, for installations over several machines. */
export const serveCommand = customCommand({
  args: { process: positional('api, control, host or proxy') },
  async run({ io, args }) {
    const name = nameOf(args.process);
    const { serve } = await import('../../worker/serve.ts');
    await serve(name, readConfig(io.env), io.signal, watchStop(io).closers);
  },
});
