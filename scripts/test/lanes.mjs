// @ts-check
/**
 * Lanes: several concurrent vitests, each with a batch of files.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { batchesOf } from './files.mjs';
import { LeftoverWatch } from './leftovers.mjs';
import { TestPlace } from './namespace.mjs';
import { namedServers, relayInto } from './relay.mjs';
import { Tally } from './tally.mjs';
import { VitestRun } from './vitest-run.mjs';

/** @typedef {import('./files.mjs').TestFile} TestFile */
/** @typedef {import('./files.mjs').Batch} Batch */
/**
 * @typedef {{ tier: 'quick' | 'all' | 'rest', args?: string[], isShown?: boolean, isFiltered?: boolean, fileMs?: number
 * }} How
 * `tier`: as in test/support/sweep.ts. `args`: for vitest. `isFiltered`: tests that do not run were not chosen.
 */

/** Maximum number of failed files of the rest that are repeated: more of them are the code's fault, not the load's. */
const REPEATED_FILES = 3;
/** Number of lanes, more than cores, because tests also wait. */
const LANES = 3;
/** Projects with one batch at a time, which keeps a core busy. */
const BUSY = ['e2e', 'installation', 'sagas'];

export class Lanes {
  #startedAt = Date.now();
  #places = 0;
  /** @type {Set<Batch>} */
  #running = new Set();
  #deps;

  /**
   * @param {{ seed: string, bail: number, signal: AbortSignal, say: (line: string) => void }} deps `bail`: number of
   * failures that end the run; 0: none do
   */
  constructor(deps) {
    this.#deps = deps;
  }

  /**
   * Runs the chosen tests in one vitest, which writes to the terminal.
   * @param {string[]} args
   * @param {'quick' | 'all'} tier
   */
  async runChosen(args, tier) {
    const isFiltered = args.some((arg) => /^(-t|--testNamePattern|--tags-filter)(=|$)/i.test(arg));
    const { tally } = await this.#runPlace({ tier, args, isShown: true, isFiltered });
    return tally;
  }

  /**
   * Runs the part of the tests that belongs to `npm test`.
   * @param {TestFile[]} files
   */
  async runQuick(files) {
    const batches = batchesOf(files.filter(({ isExtended }) => !isExtended));
    return this.#runBatches(
      batches,
      () => ({ tier: 'quick' }),
      () => true,
    );
  }

  /**
   * Runs everything that {@link runQuick} leaves out, a file at a time in an order drawn from the seed. Repeats a few
   * failed files, and reports those that then pass as unsteady.
   * @param {TestFile[]} files
   * @param {{ endMs: number, fileMs: number }} limits No file starts after `endMs` (of `Date.now`); each is ended after
   * `fileMs`.
   */
  async runRest(files, { endMs, fileMs }) {
    const { say, seed, signal } = this.#deps;
    const rest = shuffled(
      files.filter(({ hasRest }) => hasRest),
      seed,
    );
    say(`the rest: ${rest.length} files in the order of seed ${seed}`);
    const run = (/** @type {TestFile[]} */ chosen, /** @type {() => boolean} */ mayBegin) =>
      this.#runBatches(
        chosen.map((file) => ({ project: file.project, files: [file], seconds: file.seconds })),
        ({ files: [file] }) =>
          file?.isExtended
            ? { tier: 'all', fileMs }
            : { tier: 'rest', args: ['--tags-filter=sweep'], isFiltered: true, fileMs },
        mayBegin,
      );
    const tally = await run(rest, () => Date.now() < endMs);
    say(`the rest: ${tally.files.size} of ${rest.length} files ran`);
    const red = rest.filter(({ path }) => tally.failures.some(({ file }) => file === path));
    const isRepeatable =
      endMs < Number.POSITIVE_INFINITY &&
      red.length <= REPEATED_FILES &&
      tally.failures.every(({ file }) => file !== '');
    if (isRepeatable && !signal.aborted) tally.settleUnsteady(await run(red, () => true));
    return tally;
  }

  /**
   * @param {Batch[]} batches
   * @param {(batch: Batch) => How} howOf
   * @param {() => boolean} mayBegin
   */
  async #runBatches(batches, howOf, mayBegin) {
    const tally = new Tally();
    const waiting = [...batches];
    const { signal, bail } = this.#deps;
    const isOver = () => signal.aborted || !mayBegin() || (bail > 0 && tally.failed >= bail);
    const lane = async () => {
      while (!isOver()) {
        const batch = this.#takeNext(waiting);
        if (!batch) return;
        this.#running.add(batch);
        tally.add(await this.#runBatch(batch, howOf(batch)));
        this.#running.delete(batch);
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    if (signal.aborted) tally.fail('interrupted before the end');
    return tally;
  }

  /** @param {Batch[]} waiting @returns {Batch | undefined} undefined when this lane is finished */
  #takeNext(waiting) {
    const running = [...this.#running].map(({ project }) => project).filter((project) => BUSY.includes(project));
    const next = waiting.findIndex(({ project }) => !running.includes(project));
    if (next < 0 && running.length >= BUSY.length) return undefined;
    return waiting.splice(Math.max(next, 0), 1)[0];
  }

  /**
   * Runs the files of a batch. After one that hangs or dies, the others run in a new vitest and place.
   * @param {Batch} batch
   * @param {How} how
   */
  async #runBatch(batch, how) {
    const tally = new Tally();
    let files = batch.files.map(({ path }) => path);
    while (files.length > 0 && !this.#deps.signal.aborted) {
      const run = await this.#runPlace({ ...how, args: [`--project=${batch.project}`, ...(how.args ?? []), ...files] });
      tally.add(run.tally);
      const left = files.filter((file) => !run.isAccounted(file));
      if (left.length === files.length || this.#deps.bail > 0) break;
      files = left;
    }
    return tally;
  }

  /**
   * Runs one vitest in a place of its own, which is inspected afterwards and removed.
   * @param {How} how
   * @returns {Promise<VitestRun>}
   */
  async #runPlace({ tier, args = [], isShown = false, isFiltered = false, fileMs }) {
    const { seed, bail, signal, say } = this.#deps;
    const place = TestPlace.make(lettersOf(this.#places++));
    /** @type {(() => Promise<void>)[]} */
    const relays = [];
    const leftovers = new LeftoverWatch(place);
    const isPartial = isFiltered || bail > 0;
    const run = new VitestRun({
      place,
      args: bail > 0 ? [`--bail=${bail}`, ...args] : args,
      env: { MAYFLY_TEST_TIER: tier, MAYFLY_TEST_SEED: seed, MAYFLY_TEST_FILTERED: isPartial ? '1' : '0' },
      isShown,
      signal,
      fileMs,
      onFile: ({ file, tests, errors }, seconds) => {
        leftovers.noteEndOf(file);
        const count = (/** @type {string} */ outcome) => tests.filter((one) => one.outcome === outcome).length;
        const isGood = errors.length + count('failed') + count('skipped') === 0;
        const at = ((Date.now() - this.#startedAt) / 1_000).toFixed(0).padStart(4);
        if (!isShown)
          say(`${at} s  ${isGood ? 'ok    ' : 'FAILED'} ${file}: ${count('passed')} in ${seconds.toFixed(1)} s`);
      },
    });
    try {
      for (const server of namedServers(process.env)) relays.push(await relayInto(server, place));
      await run.run();
      for (const stop of relays.splice(0)) await stop();
      // a killed vitest could not clean up
      if (!signal.aborted && !run.wasKilled)
        for (const { what, file } of await leftovers.find()) run.tally.fail(`left behind: ${what}`, file);
      if (!isShown && run.tally.failed > 0) say(run.output);
      return run;
    } finally {
      for (const stop of relays) await stop();
      run.tally.cpuSeconds = place.cgroup.seconds();
      await place.remove();
    }
  }
}

/**
 * Shuffles a list deterministically by a seed.
 * @template T
 * @param {T[]} list
 * @param {string} seed
 */
function shuffled(list, seed) {
  const keyed = list.map((item, nth) => ({ item, key: createHash('sha256').update(`${seed}/${nth}`).digest('hex') }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ item }) => item);
}

/**
 * Returns a short name of letters for the n-th place: a socket's path has at most 107 bytes.
 * @param {number} n From 0.
 * @returns {string}
 */
function lettersOf(n) {
  const letter = String.fromCharCode(97 + (n % 26));
  return n < 26 ? letter : lettersOf(Math.floor(n / 26) - 1) + letter;
}
