import { type ArgsDef, defineCommand } from 'citty';
import { captureId, checkArguments, JSON_OPTION, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { captureLines } from './capture-text.ts';

const ARGS = {
  id: { type: 'positional', description: 'Capture id', required: true },
  ...WAIT_OPTION,
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly capture delete`: refused while something refers to it. */
export function deleteCommand(io: Io) {
  return defineCommand({
    meta: { name: 'delete', description: 'Delete a capture that no sandbox, snapshot or later capture refers to' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const options = { waitSeconds: waitSeconds(args.wait), signal: io.signal };
      const capture = await connect(io).captures.delete(captureId(args.id), options);
      if (args.json) io.printJson(capture);
      else for (const line of captureLines(io, capture)) io.print(line);
      const isGone = capture.state === 'deleted' || capture.state === 'failed';
      return isGone ? EXIT.ok : EXIT.waitedTooLong;
    },
  });
}
