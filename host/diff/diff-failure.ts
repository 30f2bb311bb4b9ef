import { type ErrorCode, MayflyError } from '../../model/errors.ts';
import { FileSystemProblem, type ProblemCode } from './file-system-problem.ts';

/** Snapshots of the two images; for a single image both are the same. */
export interface ComparedSnapshots {
  before: string;
  after: string;
}

const CODES: Partial<Record<ProblemCode, ErrorCode>> = { 'not-found': 'file_not_found', 'not-a-file': 'file_conflict' };

/** Returns the caller's error for a failed read of file systems; returns other errors unchanged. */
export function toDiffError(error: unknown, sides: ComparedSnapshots): unknown {
  if (!(error instanceof FileSystemProblem)) return error;
  const { code, image, message } = error;
  const which = image === null ? [...new Set([sides.before, sides.after])].join(' and ') : sides[image];
  const told = CODES[code] ?? (code === 'internal' ? 'internal' : 'diff_failed');
  return new MayflyError(told, `The file system of ${which}: ${message}`, { cause: error });
}
