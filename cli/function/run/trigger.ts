import { type ArgsDef, defineCommand } from 'citty';
import { LIMITS } from '../../../model/limits.ts';
import { checkArguments, JSON_OPTION } from '../../terminal/arguments.ts';
import { connect } from '../../terminal/connection.ts';
import { EXIT } from '../../terminal/exit-codes.ts';
import type { Io } from '../../terminal/io.ts';
import { seconds } from '../../terminal/quantities.ts';
import { EVENT_ARGS, eventOf, stored } from '../input/event-data.ts';
import { functionName, NAME } from '../input/names.ts';

const ARGS = {
  ...NAME,
  ...EVENT_ARGS,
  delay: { type: 'string', valueHint: '10m', description: 'Do not start it before' },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly function trigger`: done when the event is stored. */
export function triggerCommand(io: Io) {
  return defineCommand({
    meta: { name: 'trigger', description: 'Have a function run for an event, and print the id of its run' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const name = functionName(args.name);
      const { delaySeconds } = LIMITS.functions;
      const delay = args.delay === undefined ? {} : { delaySeconds: seconds('delay', args.delay, delaySeconds) };
      const event = await eventOf(args);
      const run = await stored(io, connect(io).runs, name, event, { ...delay, signal: io.signal });
      if (args.json) io.printJson(run);
      else io.print(run.id);
      return EXIT.ok;
    },
  });
}
