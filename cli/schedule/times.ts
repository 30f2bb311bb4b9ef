import type { NextTimes, ScheduleTime } from '../../clients/typescript/http/openapi.ts';
import { LIMITS } from '../../model/limits.ts';
import { wholeNumber } from '../terminal/arguments.ts';
import { pagedCommand } from '../terminal/command.ts';
import { printable } from '../terminal/printable.ts';
import { NAME, scheduleName } from './names.ts';

const { next: counts } = LIMITS.functions.schedules;

const DST: Record<'gap' | 'repeat', string> = { gap: 'the clocks leave it out', repeat: 'the clocks have it again' };

function nextRow({ at, localTime, dst, isRun }: NextTimes['items'][number]): string[] {
  return [at, localTime, isRun ? 'yes' : 'no', dst === null ? '' : DST[dst]];
}

function timeRow({ at, localTime, state, reason, runId, detail }: ScheduleTime): string[] {
  return [at, localTime, state === 'ran' ? (runId ?? '') : `missed: ${reason}`, printable(detail ?? '')];
}

/** `mayfly schedule next` */
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

/** `mayfly schedule times` */
export const timesCommand = pastCommand('List what became of the times of a schedule, the newest first', {});

/** `mayfly schedule missed` */
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
