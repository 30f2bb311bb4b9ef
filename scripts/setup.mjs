// @ts-check
/**
 * `npm run setup`: makes this machine ready to run Mayfly, and does nothing where it is ready.
 *
 *     node scripts/setup.mjs [--check] [--only node,debian,guest,diff,image,temporal,store,ansible,ansible-tools,attestation-tools,desktop,python-client]
 *       [--also …] [--json]
 *
 * `--also` names parts that are made beside the others, and that set-up is ready without: their tests say so.
 * Runs before there are any npm packages, so it uses none. Everything it builds goes to the cache that
 * `worker/config/artifacts.mjs` describes; see there for where to find it.
 *
 * Environment: `MAYFLY_HOST=simulated` needs no virtual machines, `MONGODB_URI` no store, `TEMPORAL_ADDRESS` no Temporal.
 *
 * @module
 */
import { parseArgs } from 'node:util';
import { ansible } from './setup/ansible.mjs';
import { debianPackages } from './setup/debian-packages.mjs';
import { diff } from './setup/diff.mjs';
import { guest } from './setup/guest.mjs';
import { desktop, image } from './setup/image.mjs';
import { nodePackages } from './setup/node-packages.mjs';
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
 * Parts of a lane come one after the other, lanes run side by side. Two lanes compute; npm mostly waits for the network.
 * @type {Part[][]}
 */
const lanes = [
  [nodePackages],
  [debianPackages, guest, diff, image, ansible, desktop],
  [ansibleTools],
  [pythonClient, attestationTools],
  [temporal, store],
];
const names = lanes.flat().map((part) => part.name);
/** What Mayfly does without, until somebody asks for it. */
const extras = [ansible.name, ansibleTools.name, attestationTools.name, pythonClient.name, desktop.name];

/** Interrupting it is no failure: shells expect this code. */
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

/** Refuses a Node that the code itself would fail on, less clearly. */
function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  throw new SetupProblem(
    `Node ${process.versions.node} is too old: install Node 20.19 or newer, for example with \`nvm install 22\`.`,
  );
}

/**
 * @param {Part} part
 * @param {Progress} progress
 * @param {AbortSignal} signal
 * @returns {Promise<Outcome>}
 */
async function makeReady(part, progress, signal) {
  const started = Date.now();
  const before = part.look();
  if (before.ready) {
    progress.line(part.name, `ready: ${before.detail}`);
    return { name: part.name, state: 'ready', detail: before.detail, cached: true, seconds: 0 };
  }
  const following = progress.follow(part.name);
  try {
    await part.make({ signal, note: following.note });
    const { ready, detail } = part.look();
    if (!ready) throw new SetupProblem(`made, but still not there: ${detail}`);
    following.done(detail);
    return { name: part.name, state: 'ready', detail, cached: false, seconds: (Date.now() - started) / 1_000 };
  } catch (error) {
    if (signal.aborted || !(error instanceof SetupProblem)) throw error;
    progress.line(part.name, `FAILED: ${error.message}`);
    return {
      name: part.name,
      state: 'failed',
      detail: error.message,
      cached: false,
      seconds: (Date.now() - started) / 1_000,
    };
  } finally {
    following.stop();
  }
}

/**
 * @param {Part[]} lane
 * @param {Progress} progress
 * @param {AbortSignal} signal
 * @returns {Promise<Outcome[]>}
 */
async function runLane(lane, progress, signal) {
  /** @type {Outcome[]} */
  const outcomes = [];
  for (const part of lane) {
    const outcome = await makeReady(part, progress, signal);
    outcomes.push(outcome);
    // What follows in a lane builds on what went before.
    if (outcome.state === 'failed') break;
  }
  return outcomes;
}

/**
 * @param {Part[]} parts
 * @param {Progress} progress
 * @returns {Outcome[]}
 */
function report(parts, progress) {
  return parts.map((part) => {
    const { ready, detail } = part.look();
    progress.line(part.name, `${ready ? 'ready' : 'MISSING'}: ${detail}`);
    return { name: part.name, state: ready ? 'ready' : 'missing', detail, cached: ready, seconds: 0 };
  });
}

async function main() {
  const started = Date.now();
  const { check, json, only, also } = options();
  checkNode();
  const progress = new Progress(json ? process.stderr : process.stdout);
  const wanted = lanes.map((lane) => lane.filter(({ name }) => only.has(name) || also.has(name)));

  /** @type {Outcome[]} */
  let outcomes;
  if (check) {
    outcomes = report(wanted.flat(), progress);
  } else {
    const blockers = new Set(
      wanted.flat().flatMap((part) => (part.look().ready || also.has(part.name) ? [] : part.blockers())),
    );
    if (blockers.size > 0) throw new SetupProblem([...blockers].join('\n'));

    const interruption = new AbortController();
    for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
      process.once(name, () => interruption.abort());
    const settled = await Promise.allSettled(wanted.map((lane) => runLane(lane, progress, interruption.signal)));
    if (interruption.signal.aborted) {
      progress.line('setup', 'interrupted; what was finished stays, run it again to go on');
      process.exitCode = interruptedCode;
      return;
    }
    outcomes = settled.flatMap((lane) => {
      if (lane.status === 'rejected') throw lane.reason;
      return lane.value;
    });
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
