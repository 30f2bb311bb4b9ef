import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { functionLines } from './function-text.ts';
import { functionName, NAME } from './input/names.ts';

const ARGS = { ...NAME, ...JSON_OPTION } as const satisfies ArgsDef;

/** `mayfly function show`: with what its active version says. */
export function showCommand(io: Io) {
  return defineCommand({
    meta: { name: 'show', description: 'Show a function and its versions' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const name = functionName(args.name);
      const { functions } = connect(io);
      const { signal } = io;
      const found = await functions.get(name, { signal });
      const versions = (await functions.versions(name, { signal })).items;
      if (args.json) io.printJson({ ...found, versions });
      else for (const line of functionLines(io, found, versions)) io.print(line);
      return EXIT.ok;
    },
  });
}
