import type { ArgsDef } from 'citty';
import { isFunctionName } from '../../model/functions/function.ts';
import { OVERLAPS, type Overlap } from '../../model/schedules/schedule.ts';
import { usageError } from '../terminal/cli-error.ts';

export const NAME = {
  name: { type: 'positional', description: 'Name of a schedule (`mayfly schedule list`)', required: true },
} as const satisfies ArgsDef;

export const OVERLAP = {
  overlap: {
    type: 'string',
    valueHint: OVERLAPS.join('|'),
    description: 'When the run of a time before is not over',
  },
} as const satisfies ArgsDef;

/** @throws CliError when `text` is not the name of a schedule */
export function scheduleName(text: string): string {
  if (isFunctionName(text)) return text;
  throw usageError(
    `${JSON.stringify(text)} cannot name a schedule`,
    '1 to 63 of a-z, 0-9 and -; it begins with a letter. List them with `mayfly schedule list`.',
  );
}

/** @throws CliError when `text` is none */
export function overlapOf(text: string | undefined): { overlap?: Overlap } {
  return text === undefined ? {} : { overlap: oneOf('overlap', text, OVERLAPS) };
}

/** @throws CliError when `text` is none of these */
export function oneOf<T extends string>(option: string, text: string, known: readonly T[]): T {
  const found = known.find((each) => each === text);
  if (found !== undefined) return found;
  throw usageError(`--${option} must be one of ${known.join(', ')}, not ${JSON.stringify(text)}`);
}
