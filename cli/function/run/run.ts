import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, JSON_OPTION } from '../../terminal/arguments.ts';
import { connect } from '../../terminal/connection.ts';
import { EXIT } from '../../terminal/exit-codes.ts';
import type { Io } from '../../terminal/io.ts';
import { RUN, runId } from '../input/names.ts';
import { runLines } from './run-text.ts';

const ARGS = { ...RUN, ...JSON_OPTION } as const satisfies ArgsDef;

/** `mayfly function run`: shows one, and starts none. */
export function runCommand(io: Io) {
  return defineCommand({
    meta: { name: 'run', description: 'Show a run: how far it is, its attempts, and what it left' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const run = await connect(io).runs.get(runId(args.id), { signal: io.signal });
      if (args.json) io.printJson(run);
      else for (const line of runLines(io, run)) io.print(line);
      return EXIT.ok;
    },
  });
}
