/** Thrown inside of the check: an argument of a stage that is not allowed. */
export class Fault extends Error {
  constructor(
    /** Of `argv`; 0 is the program. */
    readonly argument: number,
    reason: string,
  ) {
    super(reason);
  }
}
