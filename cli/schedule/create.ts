import { LIMITS } from '../../model/limits.ts';
import { GAPS, REPEATS } from '../../model/schedules/schedule.ts';
import { rawJsonOf } from '../function/input/event-data.ts';
import { functionName } from '../function/input/names.ts';
import { oneOf } from '../terminal/arguments.ts';
import { command } from '../terminal/command.ts';
import { seconds } from '../terminal/quantities.ts';
import { NAME, OVERLAP, overlapOf, scheduleName } from './names.ts';

/** `mayfly schedule create`: again, it sets all of it. */
export const createCommand = command({
  description: 'Have a function run at times; again, it sets all of that schedule',
  args: {
    ...NAME,
    function: { type: 'string', valueHint: 'name', description: 'What is run', required: true },
    cron: { type: 'string', valueHint: '"30 2 * * *"', description: 'Minute, hour, day of month, month, day of week' },
    every: { type: 'string', valueHint: '15m', description: 'In its place: a number of s, m, h or d' },
    zone: { type: 'string', valueHint: 'Europe/Berlin', description: 'Whose clocks `--cron` is of, else UTC' },
    ...OVERLAP,
    catchup: { type: 'string', valueHint: '1h', description: 'So late a time is run still when Temporal was away' },
    jitter: { type: 'string', valueHint: '30s', description: 'Up to so much later a time is run' },
    start: { type: 'string', valueHint: 'time', description: 'No time before' },
    end: { type: 'string', valueHint: 'time', description: 'No time after' },
    gap: { type: 'string', valueHint: GAPS.join('|'), description: 'A time that the clocks leave out' },
    repeat: { type: 'string', valueHint: REPEATS.join('|'), description: 'A time that the clocks have twice' },
    'pause-on-failure': { type: 'boolean', description: 'Pause it when a run of it fails', default: false },
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
          ...(gap !== undefined && { gap: oneOf('gap', gap, GAPS) }),
          ...(repeat !== undefined && { repeat: oneOf('repeat', repeat, REPEATS) }),
        },
        ...(data !== undefined && { event: { data: await rawJsonOf({ text: data }) } }),
      },
      options,
    );
  },
  print: (_io, made) => `${made.name} runs ${made.function} next at ${made.nextAt ?? 'no time: it is paused'}`,
});
