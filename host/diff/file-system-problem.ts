/** Kinds of trouble, as diff/fault/fault.go has them. */
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
 * A guest's file system could not be read to the end. The message is printable: names in it are quoted. Nothing that was
 * read before is to be taken for the whole.
 */
export class FileSystemProblem extends Error {
  override readonly name = 'FileSystemProblem';
  constructor(
    readonly code: ProblemCode,
    message: string,
    /** Which of two images it is about; null where that is not known, or there is only one. */
    readonly image: 'before' | 'after' | null,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
