// @ts-check
/**
 * `npm run setup`: prepares this machine to run Mayfly, and does nothing if it is ready.
 *
 *     node scripts/setup.mjs [--check] [--only debian,guest,diff,image,temporal,store,node,node-runtime,ansible,ansible-tools,attestation-tools,desktop,python-client]
 *       [--also …] [--json]
 *
 * `--also` names additional parts whose failure does not fail set-up: their tests report it. Runs before any npm
 * package is installed, so it uses none. Everything it builds goes to the cache that `worker/config/artifacts.mjs`
 * describes.
 *
 * Environment: `MAYFLY_HOST=simulated` needs no virtual machines, `MONGODB_URI` no store, `TEMPORAL_ADDRESS` no
 * Temporal.
 *
 * @module
 */
import { parseArgs } from 'node:util';
import { findOldNode } from '../worker/config/readiness.mjs';
import { ansible } from './setup/ansible.mjs';
import { debianPackages } from './setup/debian-packages.mjs';
import { diff } from './setup/diff.mjs';
import { guest } from './setup/guest.mjs';
import { desktop, image } from './setup/image.mjs';
import { nodePackages, nodeRuntime } from './setup/node-packages.mjs';
import { SetupProblem } from './setup/problem.mjs';
import { Progress } from './setup/progress.mjs';
import { ansibleTools } from './setup/python/ansible-tools.mjs';
import { attestationTools } from './setup/python/attestation-tools.mjs';
import { pythonClient } from './setup/python/python-tools.mjs';
import { store } from './setup/store.mjs';
import { temporal } from './setup/temporal.mjs';

/** @typedef {import('./setup/part.mjs').Part} Part */
/** @typedef {{ name: string, state: 'ready' | 'missing' | 'failed', detail: string, cached: boolean, seconds: number }} Outcome */

/**
 * All parts, prerequisites first. They run concurrently, as their `needs` and `after` allow: the image's prerequisites
 * come first, while npm and compilers that nothing waits for are nice.
 * @type {Part[]}
 */
const parts = [
  debianPackages,
  guest,
  image,
  temporal,
  nodeRuntime,
  nodePackages,
  diff,
  store,
  ansible,
  desktop,
  ansibleTools,
  pythonClient,
  attestationTools,
];
const names = parts.map((part) => part.name);
/** Parts that set-up makes only when they are named. `node` includes all of `node-runtime`. */
const extras = [nodeRuntime, ansible, ansibleTools, attestationTools, pythonClient, desktop].map(({ name }) => name);

/** Exit code that shells expect after an interrupt. */
const interruptedCode = 130;

/** @returns {{ check: boolean, json: boolean, only: Set<string>, also: Set<string> }} */
function options() {
  try {
    const { values } = parseArgs({
      options: {
        check: { type: 'boolean' },
        json: { type: 'boolean' },
        only: { type: 'string' },
        also: { type: 'string', default: '' },
      },
    });
    const also = values.also.split(',').filter((name) => name !== '');
    const only = values.only === undefined ? names.filter((name) => !extras.includes(name)) : values.only.split(',');
    const unknown = [...only, ...also].filter((name) => !names.includes(name));
    if (unknown.length > 0)
      throw new SetupProblem(`There is no part ${unknown.join(', ')}: --only takes ${names.join(', ')}.`);
    return { check: values.check ?? false, json: values.json ?? false, only: new Set(only), also: new Set(also) };
  } catch (error) {
    if (error instanceof SetupProblem) throw error;
    throw new SetupProblem(
      `${/** @type {Error} */ (error).message}. Usage: node scripts/setup.mjs [--check] [--only ${names.join(',')}] [--also …] [--json]`,
    );
  }
}

/**
 * Makes one part, unless it is ready.
 * @param {Part} part
 * @param {Progress} progress
 * @param {AbortSignal} signal
 * @returns {Promise<Outcome>}
 */
async function makeReady(part, progress, signal) {
  const started = Date.now();
  const { name } = part;
  const before = part.look();
  if (before.ready) {
    progress.unfinished.delete(name);
    return { name, state: 'ready', detail: before.detail, cached: true, seconds: 0 };
  }
  const following = progress.follow(name);
  try {
    await part.make({ signal, note: following.note });
    const { ready, detail } = part.look();
    if (!ready) throw new SetupProblem(`made, but still not there: ${detail}`);
    following.done();
    return { name, state: 'ready', detail, cached: false, seconds: (Date.now() - started) / 1_000 };
  } catch (error) {
    if (signal.aborted || !(error instanceof SetupProblem)) throw error;
    progress.unfinished.delete(name);
    const advice = `If a download failed, ${part.remedy}; then run set-up again: parts that are ready stay.`;
    progress.line(name, `FAILED: ${error.message}\n${advice}`);
    const seconds = (Date.now() - started) / 1_000;
    return { name, state: 'failed', detail: error.message, cached: false, seconds };
  } finally {
    following.stop();
  }
}

/**
 * Makes all parts, each as soon as its prerequisites are made.
 * @param {Part[]} wanted
 * @param {Progress} progress
 * @param {AbortSignal} signal
 * @returns {Promise<Outcome[]>}
 * @throws when a part fails with another error than a SetupProblem, after all of them have ended
 */
async function makeAll(wanted, progress, signal) {
  /** @type {Map<string, Promise<Outcome>>} */
  const started = new Map();
  /**
   * @param {Part} part
   * @returns {Promise<Outcome>}
   */
  const make = async (part) => {
    const names = [...(part.needs ?? []), ...(part.after ?? [])];
    const first = await Promise.all(wanted.filter(({ name }) => names.includes(name)).map(outcomeOf));
    const failed = first.find(({ name, state }) => state === 'failed' && part.needs?.includes(name));
    if (failed === undefined) return makeReady(part, progress, signal);
    progress.unfinished.delete(part.name);
    const detail = `needs ${failed.name}, which failed`;
    progress.line(part.name, `FAILED: ${detail}`);
    return { name: part.name, state: 'failed', detail, cached: false, seconds: 0 };
  };
  /**
   * @param {Part} part
   * @returns {Promise<Outcome>}
   */
  const outcomeOf = (part) => {
    const outcome = started.get(part.name) ?? make(part);
    started.set(part.name, outcome);
    return outcome;
  };
  const settled = await Promise.allSettled(wanted.map(outcomeOf));
  return settled.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
}

/**
 * Prints the state of the parts.
 * @param {Part[]} wanted
 * @param {Progress} progress
 * @returns {Outcome[]}
 */
function report(wanted, progress) {
  return wanted.map((part) => {
    const { ready, detail } = part.look();
    progress.line(part.name, `${ready ? 'ready' : 'MISSING'}: ${detail}`);
    return { name: part.name, state: ready ? 'ready' : 'missing', detail, cached: ready, seconds: 0 };
  });
}

async function main() {
  const started = Date.now();
  const { check, json, only, also } = options();
  const old = findOldNode();
  if (old !== null) throw new SetupProblem(`${old.what}: ${old.why}. ${old.remedy}`);
  const progress = new Progress(json ? process.stderr : process.stdout);
  const wanted = parts.filter(({ name }) => only.has(name) || also.has(name));

  /** @type {Outcome[]} */
  let outcomes;
  if (check) {
    outcomes = report(wanted, progress);
  } else {
    const missing = wanted.filter((part) => !part.look().ready);
    const blockers = new Set(missing.flatMap((part) => (also.has(part.name) ? [] : part.blockers())));
    if (blockers.size > 0) throw new SetupProblem([...blockers].join('\n'));
    for (const { name } of missing) progress.unfinished.add(name);
    if (missing.length > 0) progress.line('setup', `to make: ${[...progress.unfinished].join(', ')}`);

    const interruption = new AbortController();
    for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
      process.once(name, () => interruption.abort());
    try {
      outcomes = await makeAll(wanted, progress, interruption.signal);
    } catch (error) {
      if (!interruption.signal.aborted) throw error;
      progress.line('setup', 'interrupted; what was finished stays, run it again to go on');
      process.exitCode = interruptedCode;
      return;
    }
  }

  const ok = outcomes.every(({ name, state }) => state === 'ready' || also.has(name));
  const seconds = (Date.now() - started) / 1_000;
  const verdict = ok ? 'ready' : check ? 'not ready: run `npm run setup`' : 'not ready, see above';
  progress.line('setup', `${verdict} (${seconds.toFixed(1)} s)`);
  if (json) process.stdout.write(`${JSON.stringify({ ok, seconds, parts: outcomes })}\n`);
  process.exitCode = ok ? 0 : 1;
}

try {
  await main();
} catch (error) {
  if (!(error instanceof SetupProblem)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
