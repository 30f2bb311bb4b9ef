import { LIMITS } from '../../model/limits.ts';
import { dst } from '../../model/schedules/schedule.ts';
import { rawJsonOf } from '../function/input/event-data.ts';
import { functionName } from '../function/input/names.ts';
import { flag, oneOf, option } from '../terminal/arguments.ts';
import { command } from '../terminal/command.ts';
import { seconds } from '../terminal/quantities.ts';
import { NAME, OVERLAP, overlapOf, scheduleName } from './names.ts';

/** `mayfly schedule create`: again, it sets all of it. */
export const createCommand = command({
  description: 'Have a function run at times; again, it sets all of that schedule',
  args: {
    ...NAME,
    function: { type: 'string', valueHint: 'name', description: 'What is run', required: true },
    cron: option('Minute, hour, day of month, month, day of week', '"30 2 * * *"'),
    every: option('In its place: a number of s, m, h or d', '15m'),
    zone: option('Whose clocks `--cron` is of, else UTC', 'Europe/Berlin'),
    ...OVERLAP,
    catchup: option('So late a time is run still when Temporal was away', '1h'),
    jitter: option('Up to so much later a time is run', '30s'),
    start: option('No time before', 'time'),
    end: option('No time after', 'time'),
    gap: option('A time that the clocks leave out', dst.shape.gap.options.join('|')),
    repeat: option('A time that the clocks have twice', dst.shape.repeat.options.join('|')),
    'pause-on-failure': flag('Pause it when a run of it fails'),
    data: { type: 'string', alias: 'd', valueHint: 'JSON', description: 'Data of its events' },
  },
  async call({ args, connect, options }) {
    const name = scheduleName(args.name);
    const limits = LIMITS.functions.schedules;
    const { cron, every, zone, catchup, jitter, start, end, gap, repeat, data } = args;
    return connect().schedules.set(
      name,
      {
        function: functionName(args.function),
        ...(cron !== undefined && { cron }),
        ...(every !== undefined && { every }),
        ...(zone !== undefined && { timeZone: zone }),
        ...overlapOf(args.overlap),
        ...(catchup !== undefined && {
          catchupWindowSeconds: seconds('catchup', catchup, limits.catchupWindowSeconds),
        }),
        ...(jitter !== undefined && { jitterSeconds: seconds('jitter', jitter, limits.jitterSeconds) }),
        ...(start !== undefined && { startAt: start }),
        ...(end !== undefined && { endAt: end }),
        pauseOnFailure: args['pause-on-failure'],
        dst: {
          ...(gap !== undefined && { gap: oneOf('gap', gap, dst.shape.gap.options) }),
          ...(repeat !== undefined && { repeat: oneOf('repeat', repeat, dst.shape.repeat.options) }),
        },
        ...(data !== undefined && { event: { data: await rawJsonOf({ text: data }) } }),
      },
      options,
    );
  },
  print: (_io, made) => `${made.name} runs ${made.function} next at ${made.nextAt ?? 'no time: it is paused'}`,
});
