const TIMESTAMP = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|[+-](\d\d):(\d\d))$/;

/**
 * True for an RFC 3339 timestamp with a valid calendar date. Refuses leap seconds (`:60`), which few programs can
 * parse.
 */
export function isTimestamp(text: string): boolean {
  const match = TIMESTAMP.exec(text);
  if (!match) return false;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, ...offset] = match.slice(1).map(toNumber);
  const [offsetHour = 0, offsetMinute = 0] = offset;
  if (month < 1 || month > 12 || day < 1 || day > daysOf(year, month)) return false;
  return hour <= 23 && minute <= 59 && second <= 59 && offsetHour <= 23 && offsetMinute <= 59;
}

function daysOf(year: number, month: number): number {
  const isLeapYear = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  if (month === 2) return isLeapYear ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

function toNumber(digits: string | undefined): number {
  return Number(digits ?? '0');
}
