import { type ArgsDef, defineCommand } from 'citty';
import { captureId, checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { captureLines } from './capture-text.ts';

const ARGS = {
  id: { type: 'positional', description: 'Capture id', required: true },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly capture get` */
export function getCommand(io: Io) {
  return defineCommand({
    meta: { name: 'get', description: 'Show a capture' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const capture = await connect(io).captures.get(captureId(args.id), { signal: io.signal });
      if (args.json) io.printJson(capture);
      else for (const line of captureLines(io, capture)) io.print(line);
      return EXIT.ok;
    },
  });
}
