// @ts-check
/**
 * One vitest in a place of its own: what it runs, how far it comes, and its end when it hangs.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { repository } from '../../worker/config/artifacts.mjs';
import { Tally } from './tally.mjs';

/** @typedef {import('./reporter.mjs').TestEvent} TestEvent */

/**
 * @typedef {object} RunOptions
 * @property {Pick<import('./namespace.mjs').TestPlace, 'name' | 'root' | 'tmp' | 'inside' | 'endAll'>} place
 * @property {string[]} args For vitest: files, a pattern of names, projects.
 * @property {NodeJS.ProcessEnv} env Beside this process's own.
 * @property {boolean} shown Whether vitest writes to the terminal; else {@link VitestRun.output} keeps the end of it.
 * @property {AbortSignal} signal Ends it in order.
 * @property {number} [silenceMs] After so long without any news of a file that has begun it is killed. `@default` 330,000
 * @property {(file: Extract<TestEvent, { event: 'ended' }>, seconds: number) => void} onFile
 */

/** Longer than BOUND_MS of vitest.config.ts: vitest ends a hook or a test that takes longer by itself, and says so. */
const defaultSilenceMs = 330_000;
/** Vitest may take so long to say that a test with a longer time-out of its own has ended. */
const graceMs = 30_000;
/** How long vitest may take to end after its last test, or when it is asked to. */
const endMs = 60_000;
/** Of the output, so much is kept. Characters. */
const keptOutput = 200_000;

export class VitestRun {
  tally = new Tally();
  output = '';
  /** The file that runs, what of it, and the longest time-out of its tests so far. @type {{ file: string, what: string, since: number, boundMs: number } | null} */
  #current = null;
  /** @type {Set<string>} */
  #ended = new Set();
  #isOver = false;
  #lastSaid = Date.now();
  /** Why it was killed. @type {string | null} */
  #hung = null;
  #options;

  /** @param {RunOptions} options */
  constructor(options) {
    this.#options = options;
  }

  /** Runs it to its end, which it is helped to when nothing happens any more. */
  async run() {
    const { place, args, env, shown, signal } = this.#options;
    const vitest = [process.execPath, join(repository, 'node_modules', 'vitest', 'vitest.mjs'), 'run'];
    const reporters = ['--reporter=default', `--reporter=${join(repository, 'scripts', 'test', 'reporter.mjs')}`];
    const [program = '', ...rest] = place.inside([...vitest, ...reporters, ...args]);
    const output = shown ? 'inherit' : 'pipe';
    const child = spawn(program, rest, {
      cwd: repository,
      stdio: ['ignore', output, output, 'pipe'],
      env: {
        ...process.env,
        ...env,
        MAYFLY_TEST_EVENTS: '3',
        MAYFLY_TEST_NETNS: place.name,
        MAYFLY_TEST_ROOT: place.root,
        MAYFLY_TEMPLATES: 'off', // but where they are what is tested
        TMPDIR: place.tmp,
      },
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => {
        this.output = (this.output + text).slice(-keptOutput);
      });
    }
    const events = createInterface({ input: /** @type {import('node:stream').Readable} */ (child.stdio[3]) });
    events.on('line', (line) => this.#hear(JSON.parse(line)));
    const watch = setInterval(() => this.#endWhenHung(child), 1_000);
    const stop = () => child.kill('SIGTERM');
    signal.addEventListener('abort', stop);
    try {
      const [code, killedBy] = await once(child, 'close');
      this.#account(killedBy ?? `exit code ${code}`, code === 0);
    } finally {
      clearInterval(watch);
      signal.removeEventListener('abort', stop);
    }
  }

  /**
   * @param {string} file
   * @returns {boolean} whether it came to its end, or was named as what hung or died
   */
  isAccounted(file) {
    return this.#ended.has(file);
  }

  /** Whether it was ended because nothing happened any more. */
  get wasKilled() {
    return this.#hung !== null;
  }

  /** @param {TestEvent} event */
  #hear(event) {
    this.#lastSaid = Date.now();
    if (event.event === 'begun')
      this.#current = { file: event.file, what: 'its imports or its first test', since: Date.now(), boundMs: 0 };
    else if (event.event === 'at') {
      // Vitest tells of hooks in batches: of the last, also after the end of its file.
      if (this.#ended.has(event.file)) return;
      const { since, boundMs } = this.#current ?? { since: Date.now(), boundMs: 0 };
      this.#current = { ...event, since, boundMs: Math.max(boundMs, event.boundMs ?? 0) };
    } else if (event.event === 'over') {
      this.#isOver = true;
      for (const error of event.errors) this.tally.fail(`outside of any test: ${error}`);
    } else {
      const seconds = (Date.now() - (this.#current?.since ?? Date.now())) / 1_000;
      this.#ended.add(event.file);
      this.#current = null;
      this.tally.countFile(event, seconds);
      this.#options.onFile(event, seconds);
    }
  }

  /** @param {import('node:child_process').ChildProcess} child */
  #endWhenHung(child) {
    const { place, signal, silenceMs = defaultSilenceMs } = this.#options;
    const hasBegun = this.#current !== null || this.#ended.size > 0;
    const boundMs = this.#current?.boundMs ?? 0;
    const hangsAfter = boundMs > 0 ? Math.max(silenceMs, boundMs + graceMs) : silenceMs;
    const longestMs = this.#isOver || signal.aborted ? endMs : hasBegun ? hangsAfter : defaultSilenceMs;
    if (this.#hung !== null || Date.now() - this.#lastSaid < longestMs) return;
    this.#hung = `nothing happened for ${longestMs / 1_000} s`;
    child.kill('SIGKILL');
    place.endAll('SIGKILL');
  }

  /**
   * @param {string} end How it ended.
   * @param {boolean} isGood
   */
  #account(end, isGood) {
    const why = this.#hung ?? `vitest ended with ${end}`;
    if (this.#current) {
      const { file, what } = this.#current;
      this.#ended.add(file);
      this.tally.fail(`${file}: hung or died in ${what}: ${why}`);
    } else if (this.#hung !== null || !this.#isOver) {
      this.tally.fail(
        `vitest did not end in order: ${why}; files: ${[...this.#ended].join(' ') || this.#options.args.join(' ')}`,
      );
    } else if (!isGood && this.tally.failed === 0) {
      this.tally.fail(`${why} although no test failed:\n${this.output}`);
    } else if (this.#ended.size === 0) this.tally.fail('no test ran');
  }
}
