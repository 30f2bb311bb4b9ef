// @ts-check
/**
 * Tells a person, or a log file, what set-up is doing: one whole line at a time, nothing that needs a terminal.
 *
 * @module
 */

/** After this long without a word about a part, one is said, so that slow is not taken for stuck. */
const silenceMs = 20_000;

const nameWidth = 9;

export class Progress {
  /** @param {{ write(line: string): unknown }} out Gets whole lines. */
  constructor(out) {
    this.out = out;
    /**
     * Parts that are still to be made, by name.
     * @type {Set<string>}
     */
    this.unfinished = new Set();
  }

  /**
   * @param {string} part
   * @param {string} text
   */
  line(part, text) {
    this.out.write(`${part.padEnd(nameWidth)} ${text}\n`);
  }

  /**
   * Follows one part's work, and speaks up when the part itself does not.
   * @param {string} part
   * @returns {{ note: (text: string) => void, done: (text?: string) => void, stop: () => void }}
   */
  follow(part) {
    const started = Date.now();
    const elapsed = () => `${((Date.now() - started) / 1_000).toFixed(1)} s`;
    let doing = 'working';
    const say = () => this.line(part, `… ${doing} (${elapsed()})`);
    let silence = setInterval(say, silenceMs);
    const stop = () => clearInterval(silence);
    return {
      stop,
      note: (text) => {
        stop();
        doing = text;
        this.line(part, text);
        silence = setInterval(say, silenceMs);
      },
      done: (text = '') => {
        stop();
        this.unfinished.delete(part);
        const left = this.unfinished.size === 0 ? '' : `left: ${[...this.unfinished].join(', ')}`;
        const said = [text, left].filter((one) => one !== '').join('; ');
        this.line(part, `ready after ${elapsed()}${said === '' ? '' : `: ${said}`}`);
      },
    };
  }
}
