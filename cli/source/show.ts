import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import { accessLines } from './access-text.ts';
import { bakedLines } from './baked-text.ts';

const ARGS = {
  name: { type: 'positional', description: 'Source (`mayfly source list`)', required: true },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly source show` */
export function showCommand(io: Io) {
  return defineCommand({
    meta: { name: 'show', description: 'Show a source, and whether it can be cloned and looked at' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const source = await connect(io).sources.get(args.name, { signal: io.signal });
      if (args.json) {
        io.printJson(source);
        return EXIT.ok;
      }
      io.print(`cloneable: ${source.cloneable ? 'yes' : `no: ${printable(source.problem ?? 'not said why')}`}`);
      for (const baked of source.baked) for (const line of bakedLines(io, baked)) io.print(line);
      for (const access of source.access) for (const line of accessLines(io, access)) io.print(line);
      if (source.access.length === 0) io.print('never prepared for looking');
      return EXIT.ok;
    },
  });
}
