import { sha256 } from '@noble/hashes/sha2.js';
import { utf8ToBytes } from '@noble/hashes/utils.js';
import type { DueTime, MissedReason, ScheduleRecord, ScheduleRequest, ScheduleSpec } from './schedule.ts';
import { eachTimeBetween, findNextRun, type Occurrence, type Times } from './times.ts';

/** Time without a run. */
type MissedTime = Omit<DueTime, 'overlap'> & { reason: MissedReason };

/** Decisions about due times. */
interface DueDecision {
  changes: Pick<ScheduleRecord, 'handledUntil' | 'queue' | 'past' | 'pauses' | 'asks'>;
  missed: MissedTime[];
  /** Next due time, ms since 1970; Infinity: none. */
  nextAt: number;
}

/** Times that may wait behind an active run. */
const MOST_WAITING = 1_000;
/** Times decided in one call. */
const MOST_TIMES = 5_000;

/** Decides each time until `now`, and each request: it is queued or missed. @param now ms since 1970 */
export function decideDue(record: ScheduleRecord, now: number): DueDecision {
  const queue = new DueQueue(record);
  let [handled, nextAt] = [Date.parse(record.handledUntil), now];
  let { asks } = record;
  if (record.pausedAt !== null) queue.dropPaused();
  if (!queue.hasBacklog) {
    [handled, nextAt] = decideTimes(record, queue, now);
    const taken = Object.values(asks)
      .sort((a, b) => (a.at < b.at ? -1 : 1))
      .filter((ask) => queue.addAsk(record, ask));
    asks = Object.fromEntries(Object.entries(asks).filter(([, ask]) => !taken.includes(ask)));
  }
  const isNeeded = (until: string) =>
    Date.parse(until) > handled || queue.waiting.some((time) => isRegular(time) && time.at <= until);
  const changes = {
    handledUntil: new Date(handled).toISOString(),
    queue: queue.waiting,
    past: record.past.filter(({ until }) => isNeeded(until)),
    pauses: record.pauses.filter(({ to }) => Date.parse(to) > handled),
    asks,
  };
  return { changes, missed: queue.missed, nextAt };
}

/** @returns end of the decided times, and the next due time */
function decideTimes(record: ScheduleRecord, queue: DueQueue, now: number): [number, number] {
  let handled = Date.parse(record.handledUntil);
  let left = MOST_TIMES;
  for (const { until, ...spec } of [...record.past, { ...record, until: new Date(now).toISOString() }]) {
    const end = Math.min(now, Date.parse(until));
    let before = handled;
    for (const time of eachTimeBetween(spec, handled, end)) {
      const dueAt = time.at + getJitterMs(record, spec, time.at);
      // times skipped by a DST gap share an instant, so they are decided together
      if (time.at > before && (dueAt > now || left <= 0)) return [time.at - 1, dueAt];
      queue.addTime(spec, time, reasonOf(record, spec, time, now - dueAt));
      before = time.at;
      left -= 1;
    }
    handled = Math.max(handled, end);
  }
  const next = findNextRun(record, handled);
  return [handled, next ? next.at + getJitterMs(record, record, next.at) : Infinity];
}

function reasonOf(
  { pausedAt, pauses }: ScheduleRecord,
  { catchupWindowSeconds }: ScheduleSpec,
  { at, dst, isRun }: Occurrence,
  lateMs: number,
): MissedReason | null {
  if (!isRun && dst !== null) return dst;
  const wasPaused = pauses.some(({ from, to }) => at >= Date.parse(from) && at < Date.parse(to));
  if (pausedAt !== null || wasPaused) return 'paused';
  return lateMs > catchupWindowSeconds * 1_000 ? 'catch-up' : null;
}

/** Returns the delay of a time, ms. Deterministic, and always before the next time. */
export function getJitterMs(
  { project, name }: Pick<ScheduleRecord, 'project' | 'name'>,
  spec: Times & Pick<ScheduleSpec, 'jitterSeconds'>,
  at: number,
): number {
  if (spec.jitterSeconds === 0) return 0;
  const most = Math.min(spec.jitterSeconds * 1_000, (findNextRun(spec, at)?.at ?? Infinity) - at);
  const hash = sha256(utf8ToBytes(`${project}/${name}/${at}`));
  return Math.floor((new DataView(hash.buffer).getUint32(0) / 2 ** 32) * most);
}

function isRegular({ triggerId, isFilled }: DueTime): boolean {
  return triggerId === null && !isFilled;
}

export function blocksOthers({ overlap }: Pick<DueTime, 'overlap'>): boolean {
  return overlap !== 'allow-all';
}

/** Queue of times waiting for their run; overlapping ones are queued or missed according to their policies. */
class DueQueue {
  waiting: DueTime[];
  readonly missed: MissedTime[] = [];
  readonly #isRunning: boolean;

  constructor({ queue, active }: ScheduleRecord) {
    this.waiting = [...queue];
    this.#isRunning = active.some(blocksOthers);
  }

  /** True when times that could run concurrently are still waiting. */
  get hasBacklog(): boolean {
    return !this.waiting.every(blocksOthers);
  }

  dropPaused(): void {
    this.#drop(isRegular, 'paused');
  }

  addTime({ overlap }: ScheduleSpec, { at, localTime }: Occurrence, reason: MissedReason | null): void {
    const time = { at: new Date(at).toISOString(), localTime, triggerId: null, isFilled: false, overlap };
    if (reason === null) this.#add(time);
    else this.#miss(time, reason);
  }

  /** @returns false when the queue is full, so that the request stays pending */
  addAsk(record: ScheduleRecord, { id, kind, at, from, to, overlap }: ScheduleRequest): boolean {
    if (this.waiting.length >= MOST_WAITING) return false;
    if (kind === 'trigger') {
      this.#add({ at, localTime: at, triggerId: id, isFilled: false, overlap });
      return true;
    }
    for (const time of eachTimeBetween(record, Date.parse(from ?? '') - 1, Date.parse(to ?? ''))) {
      const filled = { triggerId: null, isFilled: true, overlap };
      if (time.isRun) this.#add({ at: new Date(time.at).toISOString(), localTime: time.localTime, ...filled });
    }
    return true;
  }

  #add(time: DueTime): void {
    if (time.overlap === 'cancel-other') this.#drop(blocksOthers, 'overlap');
    const serial = this.waiting.filter(blocksOthers).length;
    const behind = this.#isRunning ? serial : serial - 1;
    if (time.overlap === 'skip' && (this.#isRunning || serial > 0)) this.#miss(time, 'overlap');
    else if (time.overlap === 'buffer-one' && behind > 0) this.#miss(time, 'overlap');
    else if (time.overlap === 'buffer-all' && behind >= MOST_WAITING) this.#miss(time, 'buffer');
    else this.waiting.push(time);
  }

  #drop(which: (time: DueTime) => boolean, reason: MissedReason): void {
    for (const time of this.waiting.filter(which)) this.#miss(time, reason);
    this.waiting = this.waiting.filter((time) => !which(time));
  }

  #miss({ overlap: _overlap, ...time }: DueTime, reason: MissedReason): void {
    this.missed.push({ ...time, reason });
  }
}
