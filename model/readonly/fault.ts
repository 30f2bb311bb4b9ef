/** Thrown within the check for a disallowed word of a stage. */
export class Fault extends Error {
  constructor(
    /** Index in `argv`, where 0 is the program, or in `environment`. */
    readonly index: number,
    reason: string,
    readonly part: 'argv' | 'environment' = 'argv',
  ) {
    super(reason);
  }
}
