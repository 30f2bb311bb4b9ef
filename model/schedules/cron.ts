/** Times of a day and days of a cron expression, each in ascending order. */
export interface Cron {
  minutes: number[];
  hours: number[];
  daysOfMonth: number[];
  /** 1 … 12 */
  months: number[];
  /** 0 … 6, 0 is Sunday. */
  daysOfWeek: number[];
  /** True when either kind of day suffices, by crontab(5) when both are restricted; else both must match. */
  isEither: boolean;
}

/** Maximum length of an expression, characters. */
export const CRON_LENGTH = 256;

interface Field {
  name: string;
  min: number;
  max: number;
  /** Alternatives to numbers, starting at `min`. */
  names: readonly string[];
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
const FIELDS: readonly [Field, Field, Field, Field, Field] = [
  { name: 'minute', min: 0, max: 59, names: [] },
  { name: 'hour', min: 0, max: 23, names: [] },
  { name: 'day of month', min: 1, max: 31, names: [] },
  { name: 'month', min: 1, max: 12, names: MONTHS },
  { name: 'day of week', min: 0, max: 7, names: DAYS },
];
const SHORTHANDS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};
/** Longest length of each month. */
const DAYS_OF_MONTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const TERM = /^(?:\*|([A-Za-z]{3}|\d{1,2})(?:-([A-Za-z]{3}|\d{1,2}))?)(?:\/(\d{1,2}))?$/;

/**
 * Parses five fields by crontab(5): `*`, numbers, names of months and days, ranges, steps and lists; or one of
 * `@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly`, `@annually`.
 * @returns `problem` for an invalid expression
 */
export function parseCron(text: string): Cron | { problem: string } {
  if (text.length > CRON_LENGTH) return { problem: `has more than ${CRON_LENGTH} characters` };
  const written = text.startsWith('@') ? SHORTHANDS[text.toLowerCase()] : text;
  if (written === undefined) {
    return { problem: `has ${JSON.stringify(text)}, which is none of ${Object.keys(SHORTHANDS).join(', ')}` };
  }
  const parts = written.trim().split(/[ \t]+/);
  if (parts.length !== FIELDS.length) {
    return { problem: `has ${parts.length} fields, and not five: minute, hour, day of month, month, day of week` };
  }
  const sets: number[][] = [];
  for (const [at, field] of FIELDS.entries()) {
    const values = valuesOf(parts[at] ?? '', field);
    if ('problem' in values) return values;
    sets.push(values.all);
  }
  const [minutes = [], hours = [], daysOfMonth = [], months = [], days = []] = sets;
  const daysOfWeek = sortUnique(days.map((day) => day % DAYS.length));
  const isEither = !parts[2]?.startsWith('*') && !parts[4]?.startsWith('*');
  const cron = { minutes, hours, daysOfMonth, months, daysOfWeek, isEither };
  return isNever(cron) ? { problem: 'never fires: no month that it names has such a day' } : cron;
}

/** True when a day matches. @param date read in UTC */
export function matchesDay({ months, daysOfMonth, daysOfWeek, isEither }: Cron, date: Date): boolean {
  if (!months.includes(date.getUTCMonth() + 1)) return false;
  const [ofMonth, ofWeek] = [daysOfMonth.includes(date.getUTCDate()), daysOfWeek.includes(date.getUTCDay())];
  return isEither ? ofMonth || ofWeek : ofMonth && ofWeek;
}

function isNever({ daysOfMonth, months, isEither }: Cron): boolean {
  if (isEither) return false;
  return months.every((month) => (daysOfMonth[0] ?? 0) > (DAYS_OF_MONTHS[month - 1] ?? 0));
}

function valuesOf(text: string, field: Field): { all: number[] } | { problem: string } {
  const all: number[] = [];
  for (const term of text.split(',')) {
    const range = rangeOf(term, field);
    if (!range) return { problem: `has ${JSON.stringify(term)} as its ${field.name}: ${allowedIn(field)}` };
    for (let value = range.from; value <= range.to; value += range.step) all.push(value);
  }
  return { all: sortUnique(all) };
}

function rangeOf(term: string, field: Field): { from: number; to: number; step: number } | null {
  const found = TERM.exec(term);
  if (!found) return null;
  const [, first, last, steps] = found;
  const step = steps === undefined ? 1 : Number(steps);
  if (step < 1) return null;
  if (first === undefined) return { from: field.min, to: field.names === DAYS ? 6 : field.max, step };
  const from = valueIn(first, field);
  // as in most implementations, `5/15` starts at 5
  const end = steps === undefined ? from : field.max;
  const to = last === undefined ? end : valueIn(last, field);
  if (from === null || to === null || from > to) return null;
  return { from, to, step };
}

function valueIn(text: string, { min, max, names }: Field): number | null {
  const place = names.indexOf(text.toUpperCase());
  const value = place >= 0 ? place + min : Number(text);
  return Number.isInteger(value) && value >= min && value <= max ? value : null;
}

function allowedIn({ min, max, names }: Field): string {
  const [first] = names;
  const named = first === undefined ? '' : `, or ${first} … ${names.at(-1)}`;
  return `numbers from ${min} to ${max}${named}, \`*\`, ranges that ascend, steps and lists of these`;
}

function sortUnique(values: readonly number[]): number[] {
  return [...new Set(values)].toSorted((a, b) => a - b);
}
