// @ts-check
/**
 * Run of one vitest in a place of its own: its arguments, its progress, and its end when it hangs.
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
/** @typedef {import('./namespace.mjs').TestPlace} TestPlace */

/**
 * @typedef {object} RunOptions
 * @property {Pick<TestPlace, 'name' | 'root' | 'tmp' | 'inside' | 'endAll'> & { cgroup: { seconds(): number } }} place
 * @property {string[]} args For vitest: files, a pattern of names, projects.
 * @property {NodeJS.ProcessEnv} env Added to this process's own.
 * @property {boolean} isShown Vitest writes to the terminal; else {@link VitestRun.output} keeps the end of its output.
 * @property {AbortSignal} signal Ends it gracefully.
 * @property {number | undefined} [fileMs] Wall time of a file after which vitest is killed. `@default` 600,000
 * @property {(file: Extract<TestEvent, { event: 'ended' }>, seconds: number) => void} onFile
 */

/** Twice BOUND_MS of vitest.config.ts, after which vitest itself ends a hook or a test, and reports it. */
const FILE_MS = 600_000;
/** Time for vitest to end after its last test, or on request. */
const END_MS = 120_000;
/** Maximum characters of output that are kept. */
const KEPT_OUTPUT = 200_000;

export class VitestRun {
  tally = new Tally();
  output = '';
  /** File that runs, and its latest event. @type {{ file: string, what: string } | null} */
  #current = null;
  /** @type {Set<string>} */
  #ended = new Set();
  #isOver = false;
  /** Start of the running file, or end of the previous one. */
  #since = Date.now();
  #cpuBefore = 0;
  /** True once the first test or hook has started. */
  #hasBegun = false;
  /** Reason for the kill. @type {string | null} */
  #hung = null;
  #options;

  /** @param {RunOptions} options */
  constructor(options) {
    this.#options = options;
  }

  /** Runs it to its end, and kills it when it hangs. */
  async run() {
    const { place, args, env, isShown, signal } = this.#options;
    const vitest = [process.execPath, join(repository, 'node_modules', 'vitest', 'vitest.mjs'), 'run'];
    const reporters = ['--reporter=default', `--reporter=${join(repository, 'scripts', 'test', 'reporter.mjs')}`];
    const [program = '', ...rest] = place.inside([...vitest, ...reporters, ...args]);
    const output = isShown ? 'inherit' : 'pipe';
    const child = spawn(program, rest, {
      cwd: repository,
      stdio: ['ignore', output, output, 'pipe'],
      env: {
        ...process.env,
        ...env,
        MAYFLY_TEST_EVENTS: '3',
        MAYFLY_TEST_NETNS: place.name,
        MAYFLY_TEST_ROOT: place.root,
        MAYFLY_TEMPLATES: 'off', // except where templates are tested
        TMPDIR: place.tmp,
      },
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => {
        this.output = (this.output + text).slice(-KEPT_OUTPUT);
      });
    }
    const events = createInterface({ input: /** @type {import('node:stream').Readable} */ (child.stdio[3]) });
    events.on('line', (line) => this.#handle(JSON.parse(line)));
    const watch = setInterval(() => this.#endWhenHung(child), 1_000);
    const stop = () => {
      this.#since = Date.now();
      child.kill('SIGTERM');
    };
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
   * @returns {boolean} true when it ended, or was reported as hung or dead
   */
  isAccounted(file) {
    return this.#ended.has(file);
  }

  get wasKilled() {
    return this.#hung !== null;
  }

  /** @param {TestEvent} event */
  #handle(event) {
    // start-up, servers and the imports of the first file count for none; work between two files counts for the later
    // one
    if (event.event === 'at' && !this.#hasBegun) {
      this.#hasBegun = true;
      this.#cpuBefore = this.#options.place.cgroup.seconds();
    }
    if (event.event === 'begun') {
      this.#since = Date.now();
      this.#current = { file: event.file, what: 'its imports or its first test' };
    } else if (event.event === 'at') {
      // vitest reports hooks in batches: the last one may come after the end of its file
      if (!this.#ended.has(event.file)) this.#current = event;
    } else if (event.event === 'over') {
      this.#isOver = true;
      this.#since = Date.now();
      for (const error of event.errors) this.tally.fail(`outside of any test: ${error}`);
    } else this.#countFile(event);
  }

  /** @param {Extract<TestEvent, { event: 'ended' }>} event */
  #countFile(event) {
    const wallSeconds = (Date.now() - this.#since) / 1_000;
    const cpu = this.#options.place.cgroup.seconds();
    this.tally.countFile(event, { wallSeconds, cpuSeconds: cpu - this.#cpuBefore });
    this.#cpuBefore = cpu;
    this.#since = Date.now();
    this.#ended.add(event.file);
    this.#current = null;
    this.#options.onFile(event, wallSeconds);
  }

  /** @param {import('node:child_process').ChildProcess} child */
  #endWhenHung(child) {
    const { place, signal, fileMs = FILE_MS } = this.#options;
    const longestMs = this.#isOver || signal.aborted ? END_MS : fileMs;
    if (this.#hung !== null || Date.now() - this.#since < longestMs) return;
    this.#hung = `it took longer than ${longestMs / 1_000} s`;
    child.kill('SIGKILL');
    place.endAll('SIGKILL');
  }

  /**
   * @param {string} end Exit code or signal.
   * @param {boolean} isGood
   */
  #account(end, isGood) {
    const why = this.#hung ?? `vitest ended with ${end}`;
    if (this.#current) {
      const { file, what } = this.#current;
      this.#ended.add(file);
      this.tally.fail(`hung or died in ${what}: ${why}`, file);
    } else if (this.#hung !== null || !this.#isOver) {
      const files = [...this.#ended].join(' ') || this.#options.args.join(' ');
      this.tally.fail(`vitest did not end in order: ${why}; files: ${files}`);
    } else if (!isGood && this.tally.failed === 0) {
      this.tally.fail(`${why} although no test failed:\n${this.output}`);
    } else if (this.#ended.size === 0) this.tally.fail('no test ran');
  }
}
