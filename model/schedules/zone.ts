/** Change of a zone's offset from UTC. */
interface Transition {
  /** Milliseconds since 1970. */
  at: number;
  /** Offsets from UTC before and after, ms. */
  before: number;
  after: number;
}

/** Step of the search, ms: no zone changes twice in a week. */
const STEP_MS = 604_800_000;
const SECOND_MS = 1_000;
const FIELDS = {
  hourCycle: 'h23',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
} as const;

const formats = new Map<string, Intl.DateTimeFormat>();
/** Cache by zone and year. */
const transitions = new Map<string, readonly Transition[]>();
/** Maximum number of cached years; a zone has about two transitions a year. */
const MAX_CACHED = 10_000;

/** Returns the canonical IANA name of a zone; null: unknown. */
export function canonicalZone(name: string): string | null {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(name)) return null;
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}

/** Returns the offset of a zone from UTC, ms. */
export function getOffsetMs(zone: string, at: number): number {
  if (zone === 'UTC') return 0;
  const [month = 1, day = 1, year = 1970, hour = 0, minute = 0, second = 0] = (
    formatOf(zone).format(at).match(/\d+/g) ?? []
  ).map(Number);
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / SECOND_MS) * SECOND_MS;
}

/** Returns the transitions of a zone after `from` until `to`, in order. */
export function listTransitions(zone: string, from: number, to: number): Transition[] {
  if (zone === 'UTC' || to <= from) return [];
  const years = new Date(to).getUTCFullYear() - new Date(from).getUTCFullYear() + 1;
  const first = new Date(from).getUTCFullYear();
  return Array.from({ length: years }, (_, n) => transitionsOf(zone, first + n))
    .flat()
    .filter(({ at }) => at > from && at <= to);
}

function transitionsOf(zone: string, year: number): readonly Transition[] {
  const name = `${zone} ${year}`;
  const known = transitions.get(name);
  if (known) return known;
  const found: Transition[] = [];
  const end = Date.UTC(year + 1, 0, 1);
  let before = getOffsetMs(zone, Date.UTC(year, 0, 1) - SECOND_MS);
  for (let from = Date.UTC(year, 0, 1) - SECOND_MS; from < end - SECOND_MS; from += STEP_MS) {
    const to = Math.min(from + STEP_MS, end - SECOND_MS);
    const after = getOffsetMs(zone, to);
    if (after !== before) found.push({ at: changeBetween(zone, from, to, before), before, after });
    before = after;
  }
  if (transitions.size >= MAX_CACHED) transitions.clear();
  transitions.set(name, found);
  return found;
}

/** Returns the first second with another offset. */
function changeBetween(zone: string, from: number, to: number, before: number): number {
  let [low, high] = [from, to];
  while (high - low > SECOND_MS) {
    const middle = low + Math.floor((high - low) / 2 / SECOND_MS) * SECOND_MS;
    if (getOffsetMs(zone, middle) === before) low = middle;
    else high = middle;
  }
  return high;
}

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', { ...FIELDS, timeZone: zone });
    formats.set(zone, format);
  }
  return format;
}
