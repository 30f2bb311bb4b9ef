import { type ErrorCode, MayflyError } from '../../model/errors.ts';
import { FileSystemProblem, type ProblemCode } from './file-system-problem.ts';

/** Which snapshots the two images are of; for a single one both are the same. */
export interface Sides {
  before: string;
  after: string;
}

const CODES: Partial<Record<ProblemCode, ErrorCode>> = { 'not-found': 'file_not_found', 'not-a-file': 'file_conflict' };

/** What a caller is told of an error that was met while file systems were read; others are left as they are. */
export function asDiffFailure(error: unknown, sides: Sides): unknown {
  if (!(error instanceof FileSystemProblem)) return error;
  const { code, image, message } = error;
  const which = image === null ? [...new Set([sides.before, sides.after])].join(' and ') : sides[image];
  const told = CODES[code] ?? (code === 'internal' ? 'internal' : 'diff_failed');
  return new MayflyError(told, `The file system of ${which}: ${message}`, { cause: error });
}
