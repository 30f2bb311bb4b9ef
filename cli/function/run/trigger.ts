import { LIMITS } from '../../../model/limits.ts';
import { option } from '../../terminal/arguments.ts';
import { command } from '../../terminal/command.ts';
import { seconds } from '../../terminal/quantities.ts';
import { EVENT_ARGS, eventOf, stored } from '../input/event-data.ts';
import { functionName, NAME } from '../input/names.ts';

/** `mayfly function trigger`: done when the event is stored. */
export const triggerCommand = command({
  description: 'Have a function run for an event, and print the id of its run',
  args: {
    ...NAME,
    ...EVENT_ARGS,
    delay: option('Do not start it before', '10m'),
  },
  async call({ io, args, connect }) {
    const name = functionName(args.name);
    const { delaySeconds } = LIMITS.functions;
    const delay = args.delay === undefined ? {} : { delaySeconds: seconds('delay', args.delay, delaySeconds) };
    const event = await eventOf(args);
    return stored(io, connect().runs, name, event, { ...delay, signal: io.signal });
  },
  print: (_io, run) => run.id,
});
