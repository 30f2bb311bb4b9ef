import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { ScheduleRecord, ScheduleRequest } from '../../model/schedules/schedule.ts';
import { eachTimeBetween } from '../../model/schedules/times.ts';
import type { ServiceDeps } from '../service-deps.ts';

const { schedules: limits } = LIMITS.functions;

export type ScheduleAction = Pick<ScheduleRequest, 'kind'> & Partial<Pick<ScheduleRequest, 'from' | 'to' | 'overlap'>>;

/**
 * Records a one-off action of a schedule, which its workflow performs. Idempotent.
 * @param id {@link actionIdFrom}: the same for a retry of the request
 * @throws MayflyError schedule_not_found, schedule_busy; invalid_request for a backfill with too many times
 */
export async function requestAction(
  { store }: ServiceDeps,
  record: ScheduleRecord,
  id: string,
  wish: ScheduleAction,
): Promise<ScheduleRequest> {
  const present = record.asks[id];
  if (present) return present;
  const { from = null, to = null } = wish;
  if (from !== null && to !== null) refuseTooMany(record, from, to);
  if (Object.keys(record.asks).length >= limits.asks) {
    throw new MayflyError('schedule_busy', `${record.name} has not done ${limits.asks} things that it was asked for.`);
  }
  const asked: ScheduleRequest = {
    id,
    kind: wish.kind,
    at: new Date().toISOString(),
    from,
    to,
    overlap: wish.overlap ?? record.overlap,
  };
  if (await store.schedules.ask(record.name, asked)) return asked;
  const since = (await store.schedules.get(record.name))?.asks[id]; // recorded by a concurrent retry
  if (since) return since;
  throw new MayflyError('schedule_not_found', `There is no schedule ${record.name}.`);
}

export function actionIdFrom(random: Uint8Array): string {
  return Buffer.from(random).toString('hex');
}

function refuseTooMany(record: ScheduleRecord, from: string, to: string): void {
  const problem = (field: string, what: string) =>
    new MayflyError('invalid_request', 'That can not be run again.', { fields: [{ field, problem: what }] });
  if (Date.parse(to) > Date.now()) throw problem('to', 'is in the future');
  let count = 0;
  for (const { isRun } of eachTimeBetween(record, Date.parse(from) - 1, Date.parse(to))) {
    if (isRun && ++count > limits.backfill)
      throw problem('from', `has more than ${limits.backfill} times until \`to\``);
  }
  if (count === 0) throw problem('from', 'has no time until `to`');
}
