import { usageError } from './cli-error.ts';

interface Bounds {
  min: number;
  max: number;
}

const DURATION = /^(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9})s)?$/;
const MEMORY = /^(\d{1,9})(M|G)(?:i?B)?$/i;

/**
 * Seconds from `90`, `90s`, `15m`, `1h30m` or `2d`.
 * @throws CliError when `text` is none of these, or out of bounds
 */
export function seconds(name: string, text: string, { min, max }: Bounds): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : secondsOf(text);
  if (value >= min && value <= max) return value;
  throw usageError(
    `--${name} must be from ${min} to ${max} seconds, such as 90, 15m or 1h30m, not ${JSON.stringify(text)}`,
  );
}

function secondsOf(text: string): number {
  const match = DURATION.exec(text);
  if (!match || text === '') return Number.NaN;
  const [days = 0, hours = 0, minutes = 0, rest = 0] = match.slice(1).map((part) => Number(part ?? 0));
  return days * 86_400 + hours * 3_600 + minutes * 60 + rest;
}

/**
 * MiB from `512M` or `2G`; the units are binary, as with docker run --memory.
 * @throws CliError when `text` is neither, or out of bounds
 */
export function mebibytes(name: string, text: string, { min, max }: Bounds): number {
  const [, digits, unit] = MEMORY.exec(text) ?? [];
  const value = Number(digits) * (unit?.toUpperCase() === 'G' ? 1_024 : 1);
  if (value >= min && value <= max) return value;
  throw usageError(`--${name} must be from ${min}M to ${max}M, such as 512M or 2G, not ${JSON.stringify(text)}`);
}

/**
 * A limit from `20`, `0.5` or `none`, in units of so many.
 * @returns null: no limit
 * @throws CliError when `text` is neither, or out of bounds; a limit of what is counted one by one has no fraction
 */
export function limit(name: string, text: string, unit: number, { min, max }: Bounds, of = ''): number | null {
  if (text === 'none') return null;
  const isNumber = unit === 1 ? /^\d{1,7}$/.test(text) : /^\d{1,7}(\.\d{1,3})?$/.test(text);
  const value = isNumber ? Math.round(Number(text) * unit) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw usageError(`--${name} must be a number${of} from ${min / unit} to ${max / unit}, or none`);
}
