import { randomBytes } from 'node:crypto';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { ScheduleAsk, ScheduleRecord } from '../../model/schedules/schedule.ts';
import { timesBetween } from '../../model/schedules/times.ts';
import type { RequestDeps } from '../http/context.ts';

const { schedules: limits } = LIMITS.functions;

type Wish = Pick<ScheduleAsk, 'kind'> & Partial<Pick<ScheduleAsk, 'from' | 'to' | 'overlap'>>;

/**
 * Writes down that something is to be run beside the times of a schedule; the control worker has it done.
 * @throws MayflyError schedule_not_found, schedule_busy; invalid_request of a backfill that has too many times
 */
export async function ask({ store }: RequestDeps, record: ScheduleRecord, wish: Wish): Promise<ScheduleAsk> {
  const { from = null, to = null } = wish;
  if (from !== null && to !== null) refuseTooMany(record, from, to);
  if (Object.values(record.asks).filter(({ isSent }) => !isSent).length >= limits.asks) {
    throw new MayflyError('schedule_busy', `${record.name} has not done ${limits.asks} things that it was asked for.`);
  }
  const asked: ScheduleAsk = {
    id: randomBytes(8).toString('hex'),
    kind: wish.kind,
    at: new Date().toISOString(),
    from,
    to,
    overlap: wish.overlap ?? record.overlap,
    isSent: false,
    workflowId: null,
  };
  if (await store.schedules.ask(record.name, asked)) return asked;
  throw new MayflyError('schedule_not_found', `There is no schedule ${record.name}.`);
}

function refuseTooMany(record: ScheduleRecord, from: string, to: string): void {
  const problem = (field: string, what: string) =>
    new MayflyError('invalid_request', 'That can not be run again.', { fields: [{ field, problem: what }] });
  if (Date.parse(to) > Date.now()) throw problem('to', 'is in the future');
  let count = 0;
  for (const { isRun } of timesBetween(record, Date.parse(from) - 1, Date.parse(to))) {
    if (isRun && ++count > limits.backfill)
      throw problem('from', `has more than ${limits.backfill} times until \`to\``);
  }
  if (count === 0) throw problem('from', 'has no time until `to`');
}
