import { type ArgsDef, defineCommand } from 'citty';
import type { ReplayRun } from '../../../client/run-shapes.ts';
import { checkArguments, JSON_OPTION } from '../../terminal/arguments.ts';
import { usageError } from '../../terminal/cli-error.ts';
import { connect } from '../../terminal/connection.ts';
import { EXIT } from '../../terminal/exit-codes.ts';
import type { Io } from '../../terminal/io.ts';
import { jsonOf } from '../input/event-data.ts';
import { RUN, runId, VERSION, versionOf } from '../input/names.ts';

const ARGS = {
  ...RUN,
  ...VERSION,
  event: {
    type: 'string',
    valueHint: 'path',
    description:
      'A file with another event, as JSON; what it lacks of id, source and type is the first one’s. - for standard input',
  },
  data: { type: 'string', alias: 'd', valueHint: 'JSON', description: 'Other data alone' },
  key: { type: 'string', description: 'Idempotency-Key: the same is the same run for 24 hours' },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly function replay`: done when the event is stored. */
export function replayCommand(io: Io) {
  return defineCommand({
    meta: { name: 'replay', description: 'Have the event of a run run once more, and print the id of that run' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const id = runId(args.id);
      const event = await eventOf(args);
      const options: ReplayRun = {
        version: versionOf(args.version ?? 'same'),
        ...(event && { event }),
        ...(args.key !== undefined && { idempotencyKey: args.key }),
        signal: io.signal,
      };
      const run = await connect(io).runs.replay(id, options);
      if (args.json) io.printJson(run);
      else io.print(run.id);
      return EXIT.ok;
    },
  });
}

async function eventOf({ event, data }: { event?: string | undefined; data?: string | undefined }) {
  if (event !== undefined && data !== undefined) throw usageError('--event and --data exclude each other');
  if (event !== undefined) return jsonOf({ path: event });
  if (data === undefined) return undefined;
  const bytes = await jsonOf({ text: data });
  return Buffer.concat([Buffer.from('{"data":'), bytes, Buffer.from('}')]);
}
