// @ts-check
/**
 * `npm test`: runs vitest in network namespaces of its own and holds the tests to leaving nothing behind.
 *
 *     node scripts/test.mjs [--tier quick|all] [--sweep-minutes N] [vitest arguments: files, -t name …]
 *
 * Without files it runs all of them, in lanes side by side: each VM file, and each batch of others, has a vitest, a
 * network namespace and a folder of its own, so one that hangs costs one file. Chosen files run in one vitest.
 *
 * `--tier quick` runs two points of each sweep (test/support/sweep.ts), and nothing that has the tag `full`; `all` runs
 * everything. `--sweep-minutes` goes on after the quick tier with what that leaves out, a file at a time in an order that
 * the seed gives, and begins none when so many minutes are over.
 *
 * The last line is `N passed, N failed`, and the exit code 1 unless N failed is 0. Failed counts, besides failed tests:
 * tests that could not run or were skipped, files that hung, and each kind of thing that was left on the machine.
 *
 * Environment: `MAYFLY_TEST_SEED` chooses the points that are drawn. `MAYFLY_TEST_LANES` is how many vitests run at
 * once, `@default` 3. `MAYFLY_TEST_OFF=e2e,…` leaves out vitest projects, `MAYFLY_SWEEP_OFF=e2e,…` only of the sweeps.
 * `MAYFLY_TEST_TIMES=file` keeps how long each file took. `MONGODB_URI` and `TEMPORAL_ADDRESS` may name servers on this machine's loopback; they are relayed. Tests
 * find `MAYFLY_TEST_NETNS` and `MAYFLY_TEST_ROOT` set.
 *
 * @module
 */
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { onPath } from '../worker/config/artifacts.mjs';
import { testFiles } from './test/files.mjs';
import { Lanes } from './test/lanes.mjs';
import { TestPlace } from './test/namespace.mjs';
import { reportLines } from './test/report.mjs';
import { Tally } from './test/tally.mjs';

/** @param {string} line */
const say = (line) => process.stdout.write(`${line}\n`);

/** @param {string[]} argv */
function readOptions(argv) {
  const own = new Set(['--tier', '--sweep-minutes']);
  const at = argv.findIndex((arg, nth) => !own.has(arg) && !own.has(argv[nth - 1] ?? ''));
  const { values } = parseArgs({
    args: at < 0 ? argv : argv.slice(0, at),
    options: { tier: { type: 'string', default: 'quick' }, 'sweep-minutes': { type: 'string', default: '0' } },
  });
  const minutes = Number(values['sweep-minutes']);
  if (values.tier !== 'quick' && values.tier !== 'all') throw new Error(`--tier is quick or all, not ${values.tier}`);
  if (!(minutes >= 0 && minutes <= 600)) throw new Error(`--sweep-minutes is 0 to 600, not ${values['sweep-minutes']}`);
  return { tier: /** @type {'quick' | 'all'} */ (values.tier), minutes, chosen: at < 0 ? [] : argv.slice(at) };
}

/** @returns {Promise<Tally>} of all lanes */
async function main() {
  const { tier, minutes, chosen } = readOptions(process.argv.slice(2));
  if (process.getuid?.() !== 0)
    throw new Error('tests make a network namespace, which needs root: run `sudo npm test`');
  if (onPath('ip') === null) throw new Error('`ip` is missing: run `npm run setup`');
  const seed = process.env['MAYFLY_TEST_SEED'] || randomBytes(4).toString('hex');
  say(`seed ${seed}: the same points again with MAYFLY_TEST_SEED=${seed}`);

  const interruption = new AbortController();
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(name, () => interruption.abort());
  for (const place of TestPlace.abandoned()) await place.remove();

  const lanes = new Lanes({ seed, signal: interruption.signal, say });
  if (chosen.length > 0) return lanes.runChosen(chosen, tier);
  const { files, notRun } = testFiles(process.env);
  if (notRun !== '') say(`SWITCHED OFF, so nothing below speaks for it: ${notRun}`);
  const tally = await lanes.runFiles(files, tier);
  const sweepOff = (process.env['MAYFLY_SWEEP_OFF'] ?? '').split(',');
  if (minutes > 0)
    tally.addRest(
      await lanes.runSweeps(
        files.filter(({ hasRest, project }) => hasRest && !sweepOff.includes(project)),
        minutes,
      ),
    );
  return tally;
}

let tally = new Tally();
try {
  tally = await main();
} catch (error) {
  tally.fail(/** @type {Error} */ (error).message);
}
for (const line of reportLines(tally)) say(line);
process.exitCode = tally.failed === 0 ? 0 : 1;
