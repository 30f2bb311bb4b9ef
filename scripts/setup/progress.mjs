// @ts-check
/**
 * Reports set-up's activity to a person or a log file: whole lines, without terminal features.
 *
 * @module
 */

/** Silence of a part after which a line is printed, ms: slow must not look stuck. */
const silenceMs = 20_000;

const nameWidth = 9;

export class Progress {
  /** @param {{ write(line: string): unknown }} out Gets whole lines. */
  constructor(out) {
    this.out = out;
    /**
     * Names of parts that are not made yet.
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
   * Follows one part's work, and reports progress when the part itself is silent.
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
