import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { functionName, NAME } from './input/names.ts';

const ARGS = {
  ...NAME,
  version: { type: 'positional', description: 'Its number (`mayfly function show`)', required: true },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly function activate`: back to a version, or forth. */
export function activateCommand(io: Io) {
  return defineCommand({
    meta: { name: 'activate', description: 'Accept events for a version that was deployed before' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const name = functionName(args.name);
      if (!/^[1-9]\d{0,6}$/.test(args.version)) {
        const why = `${JSON.stringify(args.version)} is not the number of a version`;
        throw usageError(why, `List them with \`mayfly function show ${name}\`.`);
      }
      const version = await connect(io).functions.activate(name, Number(args.version), { signal: io.signal });
      if (args.json) io.printJson(version);
      else io.print(`${version.function} version ${version.version} is active; runs that wait keep theirs`);
      return EXIT.ok;
    },
  });
}
