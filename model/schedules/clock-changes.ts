import { isDayOf, readCron } from './cron.ts';
import { type Occurrence, type Times, timesBetween } from './times.ts';
import { type Transition, transitionsBetween, zoneOf } from './zone.ts';

/**
 * Around changes of clocks Temporal's calendars are not to be relied on: east of Greenwich they have the second of two
 * hours alone, and a time too many before it; and a day that begins in a gap has for them the weekday of the one before. So the hours that clocks have twice are left out of them, and each time in these
 * is named by its instant.
 */
export interface NamedTimes {
  /** What clocks show twice: from, and until, as milliseconds of UTC; the second is not among them. */
  repeated: { from: number; to: number }[];
  /** Days of the schedule that begin in a gap: what clocks would show then, as milliseconds of UTC. */
  days: number[];
  /** When Temporal shall fire, beside. Milliseconds since 1970. */
  instants: number[];
  /** Changes of the clocks until then are among these. Milliseconds since 1970. */
  until: number;
}

/** How long ahead, at most. Milliseconds: 20 years. */
const AHEAD_MS = 20 * 366 * 86_400_000;
const DAY_MS = 86_400_000;
const YEAR_MS = 366 * 86_400_000;
/** Instants that Temporal is told of; at least a year of them in any case. */
const MOST_INSTANTS = 240;
/** So much later than its time it fires in an hour that is left out: what is left out are whole minutes. Milliseconds. */
const BESIDE_MS = 1_000;

export function namedTimes(times: Times, now: number): NamedTimes {
  const zone = zoneOf(times.timeZone);
  const named: NamedTimes = { repeated: [], days: [], instants: [], until: now + AHEAD_MS };
  const cron = readCron(times.cron ?? '');
  if (times.cron === null || zone === null || 'problem' in cron) return named;
  // clocks that are just being set back are among them
  for (const change of transitionsBetween(zone, now - DAY_MS, now + AHEAD_MS)) {
    const isBack = change.after < change.before;
    const instants = isBack ? repeatedInstants(times, change) : gapInstants(times, change);
    if (change.at > now + YEAR_MS && named.instants.length + instants.length > MOST_INSTANTS) {
      return { ...named, until: change.at - DAY_MS };
    }
    named.instants.push(...instants);
    const day = Math.ceil((change.at + change.before) / DAY_MS) * DAY_MS;
    if (day < change.at + change.after && isDayOf(cron, new Date(day))) named.days.push(day);
    if (isBack) named.repeated.push({ from: change.at + change.after, to: change.at + change.before });
  }
  return named;
}

/** The time that Temporal means when it fires at that instant. Milliseconds since 1970. */
export function meantTime(times: Pick<Times, 'cron' | 'timeZone'>, at: number): number {
  const zone = zoneOf(times.timeZone);
  if (times.cron === null || zone === null || at % 60_000 !== BESIDE_MS) return at;
  const meant = at - BESIDE_MS;
  const isRepeated = transitionsBetween(zone, at - DAY_MS, at + DAY_MS).some((change) => {
    const length = change.before - change.after;
    return length > 0 && meant >= change.at - length && meant < change.at + length;
  });
  return isRepeated ? meant : at;
}

function repeatedInstants(times: Times, { at, before, after }: Transition): number[] {
  const length = before - after;
  return run(timesBetween(times, at - length - 1, at + length - 1)).map((instant) => instant + BESIDE_MS);
}

/** Right after a gap. */
function gapInstants(times: Times, { at }: Transition): number[] {
  return run(timesBetween(times, at - 1, at), 'gap');
}

function run(times: Iterable<Occurrence>, of?: Occurrence['dst']): number[] {
  return [...times].flatMap(({ at, dst, isRun }) => (isRun && (of === undefined || dst === of) ? [at] : []));
}
