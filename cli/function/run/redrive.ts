import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, JSON_OPTION } from '../../terminal/arguments.ts';
import { connect } from '../../terminal/connection.ts';
import { EXIT } from '../../terminal/exit-codes.ts';
import type { Io } from '../../terminal/io.ts';
import { functionName, RUN_OR_ALL, runId, VERSION, versionOf } from '../input/names.ts';
import { actOnAll } from './bulk.ts';

const ARGS = { ...RUN_OR_ALL, ...VERSION, ...JSON_OPTION } as const satisfies ArgsDef;

/** `mayfly function redrive`: again, it prints the same. */
export function redriveCommand(io: Io) {
  return defineCommand({
    meta: { name: 'redrive', description: 'Have another run take the place of a dead letter, once, and print its id' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const version = versionOf(args.version ?? 'current');
      if (args.all) return actOnAll(io, functionName(args.id), { action: 'redrive', version }, args.json);
      const run = await connect(io).runs.redrive(runId(args.id), { version, signal: io.signal });
      if (args.json) io.printJson(run);
      else io.print(run.id);
      return EXIT.ok;
    },
  });
}
