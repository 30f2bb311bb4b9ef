import { writeFile } from 'node:fs/promises';
import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, idOrName } from '../terminal/arguments.ts';
import { CliError, usageError } from '../terminal/cli-error.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { ACT_ARGS } from './act.ts';

const ARGS = {
  ...ACT_ARGS,
  output: {
    type: 'string',
    alias: 'o',
    valueHint: 'file',
    description: 'Where to write the PNG; - for standard output',
  },
} as const satisfies ArgsDef;

/** `mayfly desktop screenshot` */
export function screenshotCommand(io: Io) {
  return defineCommand({
    meta: { name: 'screenshot', description: 'Write the screen to a PNG file' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      if (!args.output) throw usageError('say where to write it', '-o page.png');
      const png = await connect(io).desktop.screenshot(idOrName(args.id), { signal: io.signal });
      if (args.output === '-') {
        await io.write('stdout', png);
        return EXIT.ok;
      }
      try {
        await writeFile(args.output, png);
      } catch (cause) {
        const why = cause instanceof Error ? cause.message : String(cause);
        throw new CliError(EXIT.failed, 'The picture cannot be written', why, 'Give -o another file.');
      }
      if (args.json) io.printJson({ file: args.output, bytes: png.length });
      else io.note(`${args.output}: ${png.length} bytes`);
      return EXIT.ok;
    },
  });
}
