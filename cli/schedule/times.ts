import { type ArgsDef, defineCommand } from 'citty';
import type { NextTime, ScheduleTime } from '../../client/functions/schedules.ts';
import { LIMITS } from '../../model/limits.ts';
import { checkArguments, wholeNumber } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';
import { printable } from '../terminal/printable.ts';
import { NAME, scheduleName } from './names.ts';

const { next: counts } = LIMITS.functions.schedules;
const NEXT_ARGS = {
  ...NAME,
  count: { type: 'string', description: 'So many', default: String(counts.default) },
  ...LIST_OPTION,
} as const satisfies ArgsDef;
const ARGS = {
  ...NAME,
  limit: { type: 'string', description: 'So many at most', default: '50' },
  ...LIST_OPTION,
} as const satisfies ArgsDef;

const DST: Record<'gap' | 'repeat', string> = { gap: 'the clocks leave it out', repeat: 'the clocks have it again' };

function nextRow({ at, localTime, dst, isRun }: NextTime): string[] {
  return [at, localTime, isRun ? 'yes' : 'no', dst === null ? '' : DST[dst]];
}

function timeRow({ at, localTime, state, reason, runId, detail }: ScheduleTime): string[] {
  return [at, localTime, state === 'ran' ? (runId ?? '') : `missed: ${reason}`, printable(detail ?? '')];
}

/** `mayfly schedule next` */
export function nextCommand(io: Io) {
  return defineCommand({
    meta: { name: 'next', description: 'List the next times of a schedule, and what the clocks do to each' },
    args: NEXT_ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, NEXT_ARGS);
      const name = scheduleName(args.name);
      const count = wholeNumber('count', args.count, counts.min, counts.max);
      const table = { header: ['AT', 'LOCAL', 'RUN', ''], row: nextRow };
      await printList(io, args, table, async ({ signal }) => ({
        ...(await connect(io).schedules.next(name, { count, ...(signal && { signal }) })),
        nextCursor: null,
      }));
      return EXIT.ok;
    },
  });
}

/** `mayfly schedule times` */
export function timesCommand(io: Io) {
  return pastCommand(io, 'times', 'List what became of the times of a schedule, the newest first', {});
}

/** `mayfly schedule missed` */
export function missedCommand(io: Io) {
  return pastCommand(io, 'missed', 'List the times of a schedule that had no run, and why', { state: 'missed' });
}

function pastCommand(io: Io, name: string, description: string, of: { state?: 'missed' }) {
  return defineCommand({
    meta: { name, description },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const schedule = scheduleName(args.name);
      let left = wholeNumber('limit', args.limit, 1, 100_000);
      const { schedules } = connect(io);
      await printList(io, args, { header: ['AT', 'LOCAL', 'RUN', ''], row: timeRow }, async (page) => {
        const found = await schedules.times(schedule, { ...page, ...of, limit: Math.min(left, LIMITS.page.max) });
        left -= found.items.length;
        return left > 0 ? found : { ...found, nextCursor: null };
      });
      return EXIT.ok;
    },
  });
}
