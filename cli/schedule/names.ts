import { isFunctionName } from '../../model/functions/function.ts';
import { type Overlap, overlap } from '../../model/schedules/schedule.ts';
import { checked, oneOf, option, positional } from '../terminal/arguments.ts';

export const NAME = { name: positional('Name of a schedule (`mayfly schedule list`)') };

export const OVERLAP = {
  overlap: option('When the run of a time before is not over', overlap.options.join('|')),
};

export const scheduleName = checked(
  isFunctionName,
  'cannot name a schedule',
  '1 to 63 of a-z, 0-9 and -; it begins with a letter. List them with `mayfly schedule list`.',
);

/** @throws CliError when `text` is none */
export function overlapOf(text: string | undefined): { overlap?: Overlap } {
  return text === undefined ? {} : { overlap: oneOf('overlap', text, overlap.options) };
}
