// @ts-check
/**
 * Runs other programs so that they end with set-up, even if it is killed.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { onPath } from '../../worker/config/artifacts.mjs';
import { SetupProblem } from './problem.mjs';

/** Lines kept from the end of a failed program's output, and lines shown from either end. */
const keptLines = 500;
const shownLines = 12;

/**
 * @typedef {object} RunOptions
 * @property {AbortSignal} signal Stops the program and everything it started.
 * @property {NodeJS.ProcessEnv} [env] Added to this process's environment.
 * @property {string} [cwd] (Default: this process's)
 * @property {(line: string) => void} [onLine] Gets each line of standard output.
 * @property {boolean} [gentle] For programs that must not stop half-way: sends SIGTERM, never SIGKILL, and lets them
 * outlive a set-up that is killed. (Default: false, they are killed with this process)
 * @property {boolean} [nice] Lets other programs have the processor first. (Default: false)
 */

/**
 * Runs a program to its end.
 * @param {readonly string[]} argv Program and arguments; no shell is involved.
 * @param {RunOptions} options
 * @returns {Promise<void>}
 * @throws {SetupProblem} with the end of its output, when it fails
 */
export async function run(argv, { signal, env, cwd, onLine, gentle = false, nice = false }) {
  signal.throwIfAborted();
  const setpriv = gentle ? null : onPath('setpriv');
  const command = nice ? ['nice', '-n', '10', ...argv] : argv;
  const [program, ...args] = setpriv === null ? command : [setpriv, '--pdeathsig', 'KILL', '--', ...command];
  if (program === undefined) throw new Error('run() needs a program');

  // Its own process group, so that stopping it stops everything it started.
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stop = () => signalGroup(child.pid, gentle ? 'SIGTERM' : 'SIGKILL');
  signal.addEventListener('abort', stop);

  /** @type {string[]} */
  const tail = [];
  /** @param {string} line */
  const remember = (line) => {
    tail.push(line);
    if (tail.length > keptLines) tail.shift();
  };
  createInterface({ input: child.stdout }).on('line', (line) => {
    remember(line);
    onLine?.(line);
  });
  createInterface({ input: child.stderr }).on('line', remember);

  try {
    const outcome = await new Promise((resolve, reject) => {
      child.once('error', (error) => reject(new SetupProblem(`cannot start \`${program}\`: ${error.message}`)));
      child.once('close', (code, killedBy) => resolve(killedBy === null ? `exit code ${code}` : killedBy));
    });
    signal.throwIfAborted();
    if (outcome !== 'exit code 0') {
      const shown = abridged(tail).map((line) => `    ${line}`);
      throw new SetupProblem(`\`${argv.join(' ')}\` failed (${outcome}); it said:\n${shown.join('\n')}`, tail);
    }
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/**
 * Shortens output to both ends: some programs name the cause first, some last.
 * @param {readonly string[]} lines
 * @returns {string[]}
 */
function abridged(lines) {
  if (lines.length <= 2 * shownLines) return [...lines];
  return [...lines.slice(0, shownLines), '[…]', ...lines.slice(-shownLines)];
}

/**
 * @param {number | undefined} leader undefined when the program could not be started
 * @param {NodeJS.Signals} signal
 */
function signalGroup(leader, signal) {
  if (leader === undefined) return;
  try {
    process.kill(-leader, signal);
  } catch (error) {
    // ESRCH: the group has already ended, as intended.
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error;
  }
}
