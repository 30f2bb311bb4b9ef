/** Thrown inside of the check: a word of a stage that is not allowed. */
export class Fault extends Error {
  constructor(
    /** Of `argv`, where 0 is the program; or of `environment`. */
    readonly index: number,
    reason: string,
    readonly part: 'argv' | 'environment' = 'argv',
  ) {
    super(reason);
  }
}
