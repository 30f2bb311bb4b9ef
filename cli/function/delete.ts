import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { functionName, NAME } from './input/names.ts';

const ARGS = {
  ...NAME,
  drain: {
    type: 'boolean',
    description: 'Accept no more events, and delete it when its runs have ended',
    default: false,
  },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly function delete`: its runs that have ended can be read still. */
export function deleteCommand(io: Io) {
  return defineCommand({
    meta: { name: 'delete', description: 'Delete a function and its versions' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const name = functionName(args.name);
      const left = await connect(io).functions.delete(name, { drain: args.drain, signal: io.signal });
      if (args.json) io.printJson(left ?? { name, state: 'deleted' });
      else io.print(left ? `${name} accepts no events, and goes when its runs have ended` : `${name} is deleted`);
      return EXIT.ok;
    },
  });
}
