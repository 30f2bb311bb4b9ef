import type { ReplayOptions } from '../../../clients/typescript/run-options.ts';
import { option } from '../../terminal/arguments.ts';
import { usageError } from '../../terminal/cli-error.ts';
import { command } from '../../terminal/command.ts';
import { jsonOf } from '../input/event-data.ts';
import { RUN, runId, VERSION, versionOf } from '../input/names.ts';

/** `mayfly function replay`: done when the event is stored. */
export const replayCommand = command({
  description: 'Have the event of a run run once more, and print the id of that run',
  args: {
    ...RUN,
    ...VERSION,
    event: option(
      'A file with another event, as JSON; what it lacks of id, source and type is the first one’s. - for standard input',
      'path',
    ),
    data: { type: 'string', alias: 'd', valueHint: 'JSON', description: 'Other data alone' },
    key: option('Idempotency-Key: the same is the same run for 24 hours'),
  },
  async call({ args, connect, options }) {
    const id = runId(args.id);
    const event = await eventOf(args);
    const request: ReplayOptions = {
      version: versionOf(args.version ?? 'same'),
      ...(event && { event }),
      ...(args.key !== undefined && { idempotencyKey: args.key }),
      ...options,
    };
    return connect().runs.replay(id, request);
  },
  print: (_io, run) => run.id,
});

async function eventOf({ event, data }: { event?: string | undefined; data?: string | undefined }) {
  if (event !== undefined && data !== undefined) throw usageError('--event and --data exclude each other');
  if (event !== undefined) return jsonOf({ path: event });
  if (data === undefined) return undefined;
  const bytes = await jsonOf({ text: data });
  return Buffer.concat([Buffer.from('{"data":'), bytes, Buffer.from('}')]);
}
