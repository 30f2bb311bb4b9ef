import { type ArgsDef, defineCommand } from 'citty';
import type { Schedule } from '../../client/functions/schedules.ts';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { duration } from '../terminal/duration.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import { NAME, scheduleName } from './names.ts';

const ARGS = { ...NAME, ...JSON_OPTION } as const satisfies ArgsDef;

/** `mayfly schedule show` */
export function showCommand(io: Io) {
  return defineCommand({
    meta: { name: 'show', description: 'Show a schedule' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const found = await connect(io).schedules.get(scheduleName(args.name), { signal: io.signal });
      if (args.json) io.printJson(found);
      else for (const line of linesOf(io, found)) io.print(line);
      return EXIT.ok;
    },
  });
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
  return [io.paint('bold', name), ...fields.map(([field, value]) => `  ${field.padEnd(12)}${printable(value)}`)];
}
