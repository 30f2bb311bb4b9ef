import type { Schedule } from '../../clients/typescript/http/openapi.ts';
import { duration } from '../terminal/arguments.ts';
import { command, nounCommand, pagedCommand } from '../terminal/command.ts';
import { type Io, recordLines } from '../terminal/io.ts';
import {
  createCommand,
  missedCommand,
  NAME,
  nextCommand,
  OVERLAP,
  overlapOf,
  scheduleName,
  timesCommand,
} from './create.ts';

const HEADER = ['NAME', 'FUNCTION', 'TIMES', 'ZONE', 'NEXT'];

function row({ name, function: of, cron, every, timeZone, nextAt, pausedAt }: Schedule): string[] {
  return [name, of, cron ?? `every ${every}`, timeZone, pausedAt === null ? (nextAt ?? 'none') : 'paused'];
}

function linesOf(io: Io, schedule: Schedule): string[] {
  const { name, cron, every, timeZone, nextAt, pausedAt, pauseReason, dst, startAt, endAt, event } = schedule;
  const why = pauseReason === null ? '' : `: ${pauseReason}`;
  const fields: [string, string][] = [
    ['state', pausedAt === null ? 'active' : `paused since ${pausedAt}${why}`],
    ['runs', schedule.function],
    ['times', cron === null ? `every ${every}` : `${cron} in ${timeZone}`],
    ['next', nextAt ?? 'none'],
    ['overlap', schedule.overlap],
    ['catch-up', `within ${duration(schedule.catchupWindowSeconds * 1_000)}`],
    ['jitter', schedule.jitterSeconds === 0 ? 'none' : `up to ${duration(schedule.jitterSeconds * 1_000)}`],
    ['bounds', `${startAt ?? 'any time'} to ${endAt ?? 'any time'}`],
    ['clocks', `gap ${dst.gap}, repeat ${dst.repeat}`],
    ['on failure', schedule.pauseOnFailure ? 'it is paused' : 'it goes on'],
    ['event', event.type],
  ];
  return recordLines(io, name, fields, 12);
}

function changeCommand(act: 'pause' | 'resume', description: string) {
  return command({
    description,
    args: NAME,
    call: ({ args, connect, options }) => connect().schedules[act](scheduleName(args.name), options),
    print: (_io, { name, pausedAt }) => `${name} ${pausedAt === null ? 'fires again' : 'is paused'}`,
  });
}

export const triggerCommand = command({
  description: 'Have a schedule fire now',
  args: { ...NAME, ...OVERLAP },
  async call({ args, connect, options }) {
    const name = scheduleName(args.name);
    return connect().schedules.trigger(name, overlapOf(args.overlap), options);
  },
  print: (_io, _asked, { name }) => `${name} fires; \`mayfly schedule times ${name}\` has its run`,
});

export const scheduleCommand = nounCommand({
  create: createCommand,
  list: pagedCommand({
    description: 'List schedules, by name',
    table: { header: HEADER, row },
    read: ({ connect, options }) => connect().schedules.list(options),
  }),
  get: command({
    description: 'Show a schedule',
    args: NAME,
    call: ({ args, connect, options }) => connect().schedules.get(scheduleName(args.name), options),
    print: linesOf,
  }),
  next: nextCommand,
  times: timesCommand,
  missed: missedCommand,
  pause: changeCommand('pause', 'Have a schedule fire no more until it is resumed'),
  resume: changeCommand('resume', 'Have a schedule fire again'),
  trigger: triggerCommand,
  backfill: command({
    description: 'Have times of the past run that were not',
    args: {
      ...NAME,
      from: { type: 'string', valueHint: 'time', description: 'Such as 2026-03-28T00:00:00Z', required: true },
      to: { type: 'string', valueHint: 'time', description: 'Not in the future', required: true },
      ...OVERLAP,
    },
    async call({ args, connect, options }) {
      const name = scheduleName(args.name);
      const range = { from: args.from, to: args.to, ...overlapOf(args.overlap) };
      return connect().schedules.backfill(name, range, options);
    },
    print: (_io, _asked, { name }) => `${name} runs them; \`mayfly schedule times ${name}\` has their runs`,
  }),
  delete: command({
    description: 'Delete a schedule; what it has begun goes on',
    args: NAME,
    async call({ args, connect, options }) {
      const name = scheduleName(args.name);
      await connect().schedules.delete(name, options);
      return { name, state: 'deleted' };
    },
    print: (_io, { name }) => `${name} is deleted`,
  }),
});
