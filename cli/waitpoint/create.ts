import { type ArgsDef, defineCommand } from 'citty';
import { LIMITS } from '../../model/limits.ts';
import { DEFAULT_WAITPOINT, WAITPOINT_NAME } from '../../model/waitpoints/waitpoint.ts';
import { RUN, runId } from '../function/input/names.ts';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { connect, findConnection } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { seconds } from '../terminal/quantities.ts';

const ARGS = {
  ...RUN,
  name: { type: 'positional', description: 'Name of the waitpoint', default: DEFAULT_WAITPOINT, required: false },
  timeout: { type: 'string', valueHint: '3d', description: 'How long it waits from now on; a day when it is made' },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly waitpoint create`: also of one that a process asked for, which has no token before. */
export function createCommand(io: Io) {
  return defineCommand({
    meta: { name: 'create', description: 'Make a waitpoint unless it is there, and print a new token for it' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const { name, timeout } = args;
      if (!WAITPOINT_NAME.test(name)) {
        throw usageError(
          `${JSON.stringify(name)} cannot name a waitpoint`,
          '1 to 63 of a-z, 0-9 and -, a letter first.',
        );
      }
      const wish = {
        name,
        ...(timeout !== undefined && {
          timeoutSeconds: seconds('timeout', timeout, LIMITS.functions.waitpoints.timeoutSeconds),
        }),
      };
      const made = await connect(io).waitpoints.create(runId(args.id), wish, { signal: io.signal });
      if (args.json) io.printJson(made);
      else {
        io.print(made.token);
        io.note(`until ${made.expiresAt}; data is sent by POST to`);
        io.note(new URL(made.path, findConnection(io.env).apiUrl).href);
      }
      return EXIT.ok;
    },
  });
}
