// @ts-check
/**
 * Error of set-up that the person at the keyboard can fix. Its message is one sentence with the problem and its remedy;
 * it is shown without a stack trace.
 */
export class SetupProblem extends Error {
  /** @override */
  name = 'SetupProblem';

  /**
   * @param {string} message
   * @param {readonly string[]} [output] Output of the program that failed.
   */
  constructor(message, output = []) {
    super(message);
    this.output = output;
  }
}
