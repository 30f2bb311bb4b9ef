// @ts-check
/**
 * `npm test`: runs vitest in network namespaces of its own and holds the tests to leaving nothing behind. The whole
 * suite runs in lanes side by side, each in its own namespace and folder; chosen files run in one.
 *
 *     node scripts/test.mjs [vitest arguments: files, -t name …]
 *
 * The last line is `N passed, N failed`, and the exit code 1 unless N failed is 0. Failed counts, besides failed tests:
 * tests that could not run or were skipped, and each kind of thing that was left on the machine.
 *
 * Environment: `MAYFLY_TEST_OFF=e2e,…` leaves out vitest projects. `MAYFLY_TEST_IN_TURN=1` runs one lane after another:
 * half as long again, and no test waits for the processor that another one has. `MONGODB_URI` and `TEMPORAL_ADDRESS` may
 * name servers on this machine's loopback; they are relayed. Tests find `MAYFLY_TEST_NETNS` and `MAYFLY_TEST_ROOT` set.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { onPath, repository, storeBinary, storeCachePath } from './setup/artifacts.mjs';
import { findLeftovers, namespacesNow } from './test/leftovers.mjs';
import { TestPlace } from './test/namespace.mjs';
import { namedServers, relayInto } from './test/relay.mjs';
import { tallyOf } from './test/tally.mjs';

/** @typedef {import('./test/tally.mjs').Tally} Tally */

/** How long vitest may take to stop when it is asked to. */
const patienceMs = 10_000;

/** @param {string} line */
const say = (line) => process.stdout.write(`${line}\n`);

const args = process.argv.slice(2);
const off = (process.env['MAYFLY_TEST_OFF'] ?? '').split(',').filter((name) => name !== '');
/** Set-up builds no embedded store where another server is given: then there is nothing for its tests to test. */
const withoutEmbedded =
  !existsSync(storeCachePath()) && (storeBinary() !== null || Boolean(process.env['MONGODB_URI']));
const embeddedTests = 'test/store/embedded.*.test.ts';
const notRun = [...off, ...(withoutEmbedded ? [embeddedTests] : [])].join(', ');

/** @typedef {{ name: string, projects: string[], only: string[] }} Lane */

/**
 * About as long as each other on two cores. Within a lane the files that use servers come one after another. Names are
 * short: they are part of the paths of sockets, which may have 107 bytes.
 * @type {Lane[]}
 */
const lanes = [
  { name: 'vms', projects: ['e2e', 'unit', 'replay'], only: [] },
  { name: 'api', projects: ['sagas', 'integration'], only: ['test/workflows/', 'test/api/'] },
  { name: 'cli', projects: ['integration'], only: ['--exclude=test/workflows/**', '--exclude=test/api/**'] },
];
/** @type {Lane} */
const chosen = { name: 'own', projects: ['e2e', 'unit', 'replay', 'sagas', 'integration'], only: args };

/**
 * Runs vitest to its end, or stops it when asked to.
 * @param {Lane} lane
 * @param {TestPlace} place
 * @param {AbortSignal} interruption
 * @returns {Promise<number | null>} its exit code, null when a signal ended it
 */
function runVitest(lane, place, interruption) {
  const vitest = [process.execPath, join(repository, 'node_modules', 'vitest', 'vitest.mjs'), 'run'];
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${place.report}`];
  const projects = lane.projects.filter((name) => !off.includes(name)).map((name) => `--project=${name}`);
  const [program = '', ...rest] = place.inside([...vitest, ...reporters, ...projects, ...lane.only]);
  const child = spawn(program, rest, {
    cwd: repository,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, MAYFLY_TEST_NETNS: place.name, MAYFLY_TEST_ROOT: place.root, TMPDIR: place.tmp },
  });
  interruption.addEventListener('abort', () => {
    child.kill('SIGTERM');
    setTimeout(() => child.kill('SIGKILL'), patienceMs).unref();
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
}

/**
 * @param {Lane} lane
 * @param {TestPlace} place
 * @param {Set<string>} before The namespaces before the run.
 * @param {AbortSignal} interruption
 * @returns {Promise<Tally>}
 */
async function test(lane, place, before, interruption) {
  /** @type {(() => Promise<void>)[]} */
  const relays = [];
  try {
    for (const server of namedServers(process.env)) relays.push(await relayInto(server, place));
    const exitCode = await runVitest(lane, place, interruption);
    const filtered = args.some((arg) => /^(-t|--testNamePattern)(=|$)/.test(arg));
    const tally = tallyOf(place.report, { exitCode, filtered });
    for (const stop of relays.splice(0)) await stop();
    if (interruption.aborted) {
      // Tests that were stopped half-way had no chance to tidy up; the place is removed with all that is in it.
      tally.failed += 1;
      tally.reasons.push('interrupted before the end');
      return tally;
    }
    for (const { kind, what } of await findLeftovers(place, before)) {
      tally.failed += 1;
      tally.reasons.push(`left behind, ${kind}:\n    ${what.join('\n    ')}`);
    }
    return tally;
  } finally {
    for (const stop of relays) await stop();
  }
}

/** @returns {Promise<Tally>} of all lanes */
async function main() {
  if (process.getuid?.() !== 0)
    throw new Error('tests make a network namespace, which needs root: run `sudo npm test`');
  if (onPath('ip') === null) throw new Error('`ip` is missing: run `npm run setup`');
  if (notRun !== '') say(`SWITCHED OFF, so nothing below speaks for it: ${notRun}`);

  const interruption = new AbortController();
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(name, () => interruption.abort());

  for (const place of TestPlace.abandoned()) await place.remove();
  const before = namespacesNow();
  const wanted = (args.length > 0 ? [chosen] : lanes).filter((lane) =>
    lane.projects.some((name) => !off.includes(name)),
  );
  const sideBySide = process.env['MAYFLY_TEST_IN_TURN'] ? 1 : wanted.length;
  /** @type {Tally[]} */
  const tallies = [];
  const waiting = wanted.values();
  const worker = async () => {
    for (const lane of waiting) {
      if (interruption.signal.aborted) return;
      const place = TestPlace.make(lane.name);
      try {
        tallies.push(await test(lane, place, before, interruption.signal));
      } finally {
        await place.remove();
      }
    }
  };
  await Promise.all(Array.from({ length: sideBySide }, worker));
  return {
    passed: tallies.reduce((sum, { passed }) => sum + passed, 0),
    failed: tallies.reduce((sum, { failed }) => sum + failed, 0),
    reasons: tallies.flatMap(({ reasons }) => reasons),
  };
}

/** @type {Tally} */
let tally;
try {
  tally = await main();
} catch (error) {
  tally = { passed: 0, failed: 1, reasons: [/** @type {Error} */ (error).message] };
}
for (const reason of tally.reasons) say(`FAILED: ${reason}`);
if (notRun !== '') say(`switched off: ${notRun}`);
say(`${tally.passed} passed, ${tally.failed} failed`);
process.exitCode = tally.failed === 0 ? 0 : 1;
