import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, JSON_OPTION } from '../../terminal/arguments.ts';
import { connect } from '../../terminal/connection.ts';
import { EXIT } from '../../terminal/exit-codes.ts';
import type { Io } from '../../terminal/io.ts';
import { RUN, runId, VERSION, versionOf } from './names.ts';

const ARGS = { ...RUN, ...VERSION, ...JSON_OPTION } as const satisfies ArgsDef;

/** `mayfly function redrive`: again, it prints the same. */
export function redriveCommand(io: Io) {
  return defineCommand({
    meta: { name: 'redrive', description: 'Have another run take the place of a dead letter, once, and print its id' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const version = versionOf(args.version ?? 'current');
      const run = await connect(io).runs.redrive(runId(args.id), { version, signal: io.signal });
      if (args.json) io.printJson(run);
      else io.print(run.id);
      return EXIT.ok;
    },
  });
}
