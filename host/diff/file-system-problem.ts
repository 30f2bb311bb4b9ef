/** Error codes of diff/fault/fault.go. */
export const PROBLEM_CODES = [
  'bad-request',
  'bad-image',
  'no-file-system',
  'corrupt',
  'unsupported',
  'limit',
  'not-found',
  'not-a-file',
  'internal',
] as const;
export type ProblemCode = (typeof PROBLEM_CODES)[number];

/**
 * Error of reading a guest's file system. The message is printable: names in it are quoted. Results read before it are
 * incomplete.
 */
export class FileSystemProblem extends Error {
  override readonly name = 'FileSystemProblem';
  constructor(
    readonly code: ProblemCode,
    message: string,
    /** Image of the two that failed; null where that is not known, or there is only one. */
    readonly image: 'before' | 'after' | null,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
