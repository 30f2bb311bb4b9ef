// @ts-check
/**
 * A reason why set-up cannot go on that the person at the keyboard can do something about.
 * Its message is one sentence that says what is missing and what gets it; it is shown without a stack trace.
 */
export class SetupProblem extends Error {
  /** @override */
  name = 'SetupProblem';

  /**
   * @param {string} message
   * @param {readonly string[]} [output] What the program that failed had written, for whoever knows what it may say.
   */
  constructor(message, output = []) {
    super(message);
    this.output = output;
  }
}
