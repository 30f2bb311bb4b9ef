import { type ArgsDef, defineCommand } from 'citty';
import { readConfig } from '../worker/config.ts';
import { checkArguments } from './arguments.ts';
import { usageError } from './cli-error.ts';
import { EXIT } from './exit-codes.ts';
import { workerPart } from './installation.ts';
import type { Io } from './io.ts';

const ARGS = {
  process: { type: 'positional', description: 'api, control or host', required: true },
} as const satisfies ArgsDef;

const PARTS = { api: 'serve-api.ts', control: 'serve-control.ts', host: 'serve-host.ts' } as const;

function partOf(name: string): (typeof PARTS)[keyof typeof PARTS] {
  if (name === 'api' || name === 'control' || name === 'host') return PARTS[name];
  throw usageError(`there is no process ${JSON.stringify(name)}`, 'Use api, control or host.');
}

/** `mayfly serve`: one process alone, for installations over several machines. */
export function serveCommand(io: Io) {
  return defineCommand({
    meta: { name: 'serve', description: 'Run one process alone: api, control or host' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const { serve } = await workerPart(partOf(args.process));
      await serve(readConfig(io.env), io.signal);
      return EXIT.ok;
    },
  });
}
