import type { NextTimes, ScheduleTime } from '../../clients/typescript/http/openapi.ts';
import { isFunctionName } from '../../model/functions/function.ts';
import { LIMITS } from '../../model/limits.ts';
import { dst, type Overlap, overlap } from '../../model/schedules/schedule.ts';
import { rawJsonOf } from '../function/input/event-data.ts';
import { functionName } from '../function/input/names.ts';
import { createCheck, flag, oneOf, option, positional, seconds, wholeNumber } from '../terminal/arguments.ts';
import { command, pagedCommand } from '../terminal/command.ts';
import { printable } from '../terminal/io.ts';

export const NAME = { name: positional('Name of a schedule (`mayfly schedule list`)') };

export const OVERLAP = {
  overlap: option('When the run of a time before is not over', overlap.options.join('|')),
};

export const scheduleName = createCheck(
  isFunctionName,
  'cannot name a schedule',
  '1 to 63 of a-z, 0-9 and -; it begins with a letter. List them with `mayfly schedule list`.',
);

/** @throws CliError for an unknown policy */
export function overlapOf(text: string | undefined): { overlap?: Overlap } {
  return text === undefined ? {} : { overlap: oneOf('overlap', text, overlap.options) };
}

/** `mayfly schedule create`: a repeat replaces the whole schedule. */
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

const { next: counts } = LIMITS.functions.schedules;

const DST: Record<'gap' | 'repeat', string> = { gap: 'the clocks leave it out', repeat: 'the clocks have it again' };

function nextRow({ at, localTime, dst, isRun }: NextTimes['items'][number]): string[] {
  return [at, localTime, isRun ? 'yes' : 'no', dst === null ? '' : DST[dst]];
}

function timeRow({ at, localTime, state, reason, runId, detail }: ScheduleTime): string[] {
  return [at, localTime, state === 'ran' ? (runId ?? '') : `missed: ${reason}`, printable(detail ?? '')];
}

export const nextCommand = pagedCommand({
  description: 'List the next times of a schedule, and what the clocks do to each',
  args: {
    ...NAME,
    count: { type: 'string', description: 'So many', default: String(counts.default) },
  },
  table: { header: ['AT', 'LOCAL', 'RUN', ''], row: nextRow },
  read({ args, connect, options }) {
    const name = scheduleName(args.name);
    const count = wholeNumber('count', args.count, counts.min, counts.max);
    return () => connect().schedules.next(name, { count, ...options });
  },
});

export const timesCommand = pastCommand('List what became of the times of a schedule, the newest first', {});

export const missedCommand = pastCommand('List the times of a schedule that had no run, and why', {
  state: 'missed',
});

function pastCommand(description: string, of: { state?: 'missed' }) {
  return pagedCommand({
    description,
    args: NAME,
    limit: 50,
    table: { header: ['AT', 'LOCAL', 'RUN', ''], row: timeRow },
    read:
      ({ args, connect }) =>
      (page) =>
        connect().schedules.times(scheduleName(args.name), { ...page, ...of }),
  });
}
