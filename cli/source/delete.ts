import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, JSON_OPTION, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { bakedLines } from './baked-text.ts';
import { HOST_OPTION, onHost } from './host-option.ts';

const ARGS = {
  name: { type: 'positional', description: 'Source that was baked', required: true },
  ...HOST_OPTION,
  ...WAIT_OPTION,
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly source delete`: refused while something refers to it. */
export function deleteCommand(io: Io) {
  return defineCommand({
    meta: { name: 'delete', description: 'Delete a source that was baked, with its images' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const options = { waitSeconds: waitSeconds(args.wait), signal: io.signal };
      const baked = await connect(io).sources.delete(args.name, onHost(args), options);
      if (args.json) io.printJson(baked);
      else for (const line of bakedLines(io, baked)) io.print(line);
      return baked.state === 'deleted' || baked.state === 'failed' ? EXIT.ok : EXIT.waitedTooLong;
    },
  });
}
