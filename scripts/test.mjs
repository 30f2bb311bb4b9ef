// @ts-check
/**
 * `npm test`: runs vitest in network namespaces of its own, and enforces a budget of processor time and the absence of
 * leftovers.
 *
 *     npm test -- [--tier quick|all] [--rest-minutes N] [--bail N] [vitest arguments: files, -t name …]
 *
 * Without files it runs all of `npm test`, in concurrent lanes: each vitest has a network namespace, a folder and a
 * cgroup of its own. Chosen files run in one vitest, which writes to the terminal.
 *
 * `--tier all` runs all points of sweeps (test/support/sweep.ts), and without files everything (`npm run test:all`).
 * `--rest-minutes` continues after `npm test` with the tests it leaves out, a file at a time in an order drawn from the
 * seed, and starts none after that many minutes. `--bail` ends the run after N failures.
 *
 * The last line is `N passed, N failed`, and the exit code 1 unless N failed is 0. Failed counts, besides failed tests:
 * tests that could not run or were skipped, files that hung, each kind of leftover on the machine, and each exceeded
 * limit of scripts/test/budget.mjs.
 *
 * Environment: `MAYFLY_TEST_SEED` selects the drawn points, and the order of the rest. `MAYFLY_TEST_TIMES=FILE` writes
 * the wall time of each file, for scripts/test/times.json. `MONGODB_URI` and `TEMPORAL_ADDRESS` may name servers on
 * this machine's loopback; they are relayed. Tests find `MAYFLY_TEST_NETNS` and `MAYFLY_TEST_ROOT` set.
 *
 * @module
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { onPath, repository } from '../worker/config/artifacts.mjs';
import { budgetLines, overBudget } from './test/budget.mjs';
import { testFiles } from './test/files.mjs';
import { Lanes } from './test/lanes.mjs';
import { TestPlace } from './test/namespace.mjs';
import { secondsOfUnit } from './test/reference-load.mjs';
import { reportLines } from './test/report.mjs';
import { Tally } from './test/tally.mjs';

/** Wall time after which a file outside of `npm test` is ended, ms. */
const REST_FILE_MS = 900_000;

/** @param {string} line */
const say = (line) => process.stdout.write(`${line}\n`);

/** @param {string[]} argv */
function readOptions(argv) {
  const { values, tokens } = parseArgs({
    args: argv,
    strict: false,
    tokens: true,
    options: { tier: { type: 'string' }, 'rest-minutes': { type: 'string' }, bail: { type: 'string' } },
  });
  const numberOf = (/** @type {'rest-minutes' | 'bail'} */ name) => {
    const value = Number(values[name] ?? 0);
    if (!(value >= 0 && value <= 600)) throw new Error(`--${name} takes a number from 0 to 600, not ${values[name]}`);
    return value;
  };
  const tier = values['tier'] ?? 'quick';
  if (tier !== 'quick' && tier !== 'all') throw new Error(`--tier is quick or all, not ${tier}`);
  const own = tokens.flatMap((token) =>
    token.kind === 'option' && ['tier', 'rest-minutes', 'bail'].includes(token.name)
      ? [token.index, ...(token.inlineValue === false ? [token.index + 1] : [])]
      : [],
  );
  const chosen = argv.filter((_, index) => !own.includes(index));
  return {
    tier: /** @type {'quick' | 'all'} */ (tier),
    minutes: numberOf('rest-minutes'),
    bail: numberOf('bail'),
    chosen,
  };
}

/** @param {string} seed */
async function main(seed) {
  const startedAt = Date.now();
  const { tier, minutes, bail, chosen } = readOptions(process.argv.slice(2));
  if (process.getuid?.() !== 0)
    throw new Error('tests make a network namespace, which needs root: run `sudo npm test`');
  if (onPath('ip') === null) throw new Error('`ip` is missing: run `npm run setup`');
  say(`seed ${seed}: the same points again with MAYFLY_TEST_SEED=${seed}`);

  const interruption = new AbortController();
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(name, () => interruption.abort());
  for (const place of TestPlace.abandoned()) await place.remove();
  // builds the CLI's scripts if outdated: otherwise the first file that starts it pays for all
  execFileSync(process.execPath, [join(repository, 'bin/mayfly'), '--version']);

  const lanes = new Lanes({ seed, bail, signal: interruption.signal, say });
  if (chosen.length > 0) {
    const tally = await lanes.runChosen(chosen, tier);
    for (const [path, { cpuSeconds }] of tally.files) say(`${cpuSeconds.toFixed(1)} s of processor time: ${path}`);
    return tally;
  }
  const measure = () => secondsOfUnit(`mayfly-test-reference-${process.pid}`);
  const before = await measure();
  const files = testFiles();
  const tally = await lanes.runQuick(files);
  // Averages both measurements, since the machine's other load varies.
  holdToBudget(tally, (before + (await measure())) / 2);
  const endMs = tier === 'all' ? Number.POSITIVE_INFINITY : startedAt + minutes * 60_000;
  if (Date.now() < endMs && !(bail > 0 && tally.failed >= bail))
    tally.add(await lanes.runRest(files, { endMs, fileMs: REST_FILE_MS }));
  return tally;
}

/**
 * @param {Tally} tally Of `npm test`.
 * @param {number} unit Processor seconds of this machine.
 */
function holdToBudget(tally, unit) {
  const { user, system } = process.cpuUsage();
  const used = { files: tally.files, cpuSeconds: tally.cpuSeconds + (user + system) / 1_000_000, unit };
  for (const line of budgetLines(used)) say(line);
  for (const { error, file } of overBudget(used)) tally.fail(error, file);
}

const seed = process.env['MAYFLY_TEST_SEED'] || randomBytes(4).toString('hex');
let tally = new Tally();
try {
  tally = await main(seed);
} catch (error) {
  tally.fail(/** @type {Error} */ (error).message);
}
const times = process.env['MAYFLY_TEST_TIMES'];
if (times) {
  const entries = [...tally.files].map(([path, { wallSeconds }]) => `  "${path}": ${wallSeconds.toFixed(1)}`);
  writeFileSync(times, `{\n${entries.toSorted().join(',\n')}\n}\n`);
}
for (const line of reportLines(tally, { MAYFLY_TEST_SEED: seed })) say(line);
process.exitCode = tally.failed === 0 ? 0 : 1;
