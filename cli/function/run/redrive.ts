import { JSON_OPTION } from '../../terminal/arguments.ts';
import { customCommand } from '../../terminal/command.ts';
import { EXIT } from '../../terminal/exit-codes.ts';
import { functionName, RUN_OR_ALL, runId, VERSION, versionOf } from '../input/names.ts';
import { actOnAll } from './bulk.ts';

/** `mayfly function redrive`: again, it prints the same. */
export const redriveCommand = customCommand({
  description: 'Have another run take the place of a dead letter, once, and print its id',
  args: { ...RUN_OR_ALL, ...VERSION, ...JSON_OPTION },
  async run({ io, args, connect }) {
    const version = versionOf(args.version ?? 'current');
    if (args.all) return actOnAll(io, functionName(args.id), { action: 'redrive', version }, args.json);
    const run = await connect().runs.redrive(runId(args.id), { version, signal: io.signal });
    if (args.json) io.printJson(run);
    else io.print(run.id);
    return EXIT.ok;
  },
});
