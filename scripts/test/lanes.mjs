// @ts-check
/**
 * Lanes: several vitests side by side, each with a batch of files.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { cpus } from 'node:os';
import { batchesOf } from './files.mjs';
import { findLeftovers, namespacesNow } from './leftovers.mjs';
import { TestPlace } from './namespace.mjs';
import { namedServers, relayInto } from './relay.mjs';
import { Tally } from './tally.mjs';
import { VitestRun } from './vitest-run.mjs';

/** @typedef {import('./files.mjs').TestFile} TestFile */
/** @typedef {import('./files.mjs').Batch} Batch */
/** @typedef {{ tier: 'quick' | 'all' | 'rest', args: string[], shown: boolean, isFiltered: boolean }} How */

const laneCount = Number(process.env['MAYFLY_TEST_LANES'] || 3);
/** An emulated machine, or sagas side by side, keep a core busy: one batch of each at a time, while others can run beside it. */
const busy = new Set(['e2e', 'sagas']);

export class Lanes {
  #before = namespacesNow();
  #startedAt = Date.now();
  #places = 0;
  /** @type {Set<Batch>} */
  #running = new Set();
  #deps;

  /** @param {{ seed: string, signal: AbortSignal, say: (line: string) => void }} deps */
  constructor(deps) {
    this.#deps = deps;
  }

  /**
   * Runs what the arguments choose in one vitest, which writes to the terminal.
   * @param {string[]} args
   * @param {'quick' | 'all'} tier
   * @returns {Promise<Tally>}
   */
  async runChosen(args, tier) {
    const isFiltered = args.some((arg) => /^(-t|--testNamePattern|--tags-filter)(=|$)/i.test(arg));
    const { tally } = await this.#runPlace([], { tier, args, shown: true, isFiltered });
    return tally;
  }

  /**
   * Runs all of them, the longest first.
   * @param {TestFile[]} files
   * @param {'quick' | 'all'} tier
   * @returns {Promise<Tally>}
   */
  async runFiles(files, tier) {
    const args = tier === 'quick' ? ['--tags-filter=!full'] : [];
    const how = { tier, args, shown: false, isFiltered: false };
    // what has nothing to run is only counted
    const batches = batchesOf(files.map((file) => (tier === 'quick' && file.isFull ? { ...file, seconds: 0 } : file)));
    return this.#runBatches(
      batches,
      () => how,
      () => true,
    );
  }

  /**
   * Runs what the quick tier leaves out, a file at a time in an order that the seed gives, until the time is over.
   * @param {TestFile[]} files
   * @param {number} minutes
   * @returns {Promise<Tally>}
   */
  async runSweeps(files, minutes) {
    const { say, seed } = this.#deps;
    const end = Date.now() + minutes * 60_000;
    say(`sweeps, in the order of seed ${seed}, for ${minutes} min`);
    const drawn = shuffled(files, seed).map((file) => ({
      project: file.project,
      files: [file],
      seconds: file.seconds,
    }));
    const rest = { tier: /** @type {const} */ ('rest'), args: ['--tags-filter=sweep or full'] };
    const whole = { tier: /** @type {const} */ ('all'), args: [] };
    return this.#runBatches(
      drawn,
      ({ files: [file] }) => ({ ...(file?.isFull ? whole : rest), shown: false, isFiltered: !file?.isFull }),
      () => Date.now() < end,
    );
  }

  /**
   * @param {Batch[]} batches
   * @param {(batch: Batch) => How} howOf
   * @param {() => boolean} mayBegin
   */
  async #runBatches(batches, howOf, mayBegin) {
    const tally = new Tally();
    const waiting = [...batches];
    const lane = async () => {
      while (!this.#deps.signal.aborted && mayBegin()) {
        const batch = this.#takeNext(waiting);
        if (!batch) return;
        this.#running.add(batch);
        tally.add(await this.#runBatch(batch, howOf(batch)));
        this.#running.delete(batch);
      }
    };
    await Promise.all(Array.from({ length: laneCount }, lane));
    if (this.#deps.signal.aborted) tally.fail('interrupted before the end');
    return tally;
  }

  /** @param {Batch[]} waiting @returns {Batch | undefined} undefined when this lane has nothing more to do */
  #takeNext(waiting) {
    const running = [...this.#running].map(({ project }) => project).filter((project) => busy.has(project));
    const isFree = (/** @type {Batch} */ { project }) => !running.includes(project);
    // VM files last the longest together and run one after another, so that is what never waits
    const machine = waiting.findIndex((batch) => batch.project === 'e2e' && isFree(batch));
    const other = machine < 0 ? waiting.findIndex(isFree) : machine;
    if (other < 0 && running.length >= cpus().length) return undefined; // nothing else will come: this lane is over
    return waiting.splice(Math.max(other, 0), 1)[0];
  }

  /**
   * Runs the files of a batch. Where one hangs or dies, those after it run in a vitest and a place of their own.
   * @param {Batch} batch
   * @param {How} how
   */
  async #runBatch(batch, how) {
    const tally = new Tally();
    let files = batch.files.map(({ path }) => path);
    while (files.length > 0 && !this.#deps.signal.aborted) {
      const args = [`--project=${batch.project}`, ...how.args, ...files];
      const run = await this.#runPlace(files, { ...how, args });
      tally.add(run.tally);
      const left = files.filter((file) => !run.isAccounted(file));
      if (left.length === files.length) break;
      files = left;
    }
    return tally;
  }

  /**
   * Runs one vitest in a place of its own, which is looked at when it has ended and then removed.
   * @param {string[]} files
   * @param {How} how
   * @returns {Promise<VitestRun>}
   */
  async #runPlace(files, { tier, args, shown, isFiltered }) {
    const { seed, signal, say } = this.#deps;
    const place = TestPlace.make(lettersOf(this.#places++));
    /** @type {(() => Promise<void>)[]} */
    const relays = [];
    const run = new VitestRun({
      place,
      args,
      env: { MAYFLY_TEST_TIER: tier, MAYFLY_TEST_SEED: seed, MAYFLY_TEST_FILTERED: isFiltered ? '1' : '0' },
      shown,
      signal,
      onFile: ({ file, tests, errors }, seconds) => {
        const count = (/** @type {string} */ outcome) => tests.filter((one) => one.outcome === outcome).length;
        const isGood = errors.length + count('failed') + count('skipped') === 0;
        const at = ((Date.now() - this.#startedAt) / 1_000).toFixed(0).padStart(4);
        if (!shown)
          say(`${at} s  ${isGood ? 'ok    ' : 'FAILED'} ${file}: ${count('passed')} in ${seconds.toFixed(1)} s`);
      },
    });
    try {
      for (const server of namedServers(process.env)) relays.push(await relayInto(server, place));
      await run.run();
      for (const stop of relays.splice(0)) await stop();
      if (!signal.aborted) await this.#holdToNothingLeft(run, place, files);
      if (!shown && run.tally.failed > 0) say(run.output);
      return run;
    } finally {
      for (const stop of relays) await stop();
      await place.remove();
    }
  }

  /**
   * @param {VitestRun} run
   * @param {TestPlace} place
   * @param {string[]} files
   */
  async #holdToNothingLeft(run, place, files) {
    if (run.wasKilled) return; // its tests had no chance to tidy up; the place is removed with all that is in it
    for (const { kind, what } of await findLeftovers(place, this.#before))
      run.tally.fail(`left behind, ${kind}, by one of ${files.join(' ')}:\n    ${what.join('\n    ')}`);
  }
}

/**
 * The same order for the same seed.
 * @template T
 * @param {T[]} list
 * @param {string} seed
 */
function shuffled(list, seed) {
  const keyed = list.map((item, nth) => ({ item, key: createHash('sha256').update(`${seed}/${nth}`).digest('hex') }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ item }) => item);
}

/**
 * A name for the n-th place: places are named by letters, and briefly, because a socket's path has at most 107 bytes.
 * @param {number} n From 0.
 * @returns {string}
 */
function lettersOf(n) {
  const letter = String.fromCharCode(97 + (n % 26));
  return n < 26 ? letter : lettersOf(Math.floor(n / 26) - 1) + letter;
}
