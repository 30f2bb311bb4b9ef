// @ts-check
/**
 * @module Runs structured commands without a gate, in a tree that records every change. Standard input is a list of
 * commands, each a list of pipelines, each a list of stages. Prints for each whether one of its programs exists.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';

/** @typedef {{argv: (string | {glob: string})[], paths: string[], stdin: string, stderr: string, environment?: string[]}} Stage */

const TIME_LIMIT_MS = 1_500;
/** Environment. TMPDIR is for tac, sort and apt, whose temporary files the gate forbids. */
const ENV = {
  PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/nonexistent',
  LANG: 'C.UTF-8',
  TMPDIR: '/mnt',
  // As in the gate (go/gate/run/pipeline.go): npm keeps logs, and checks its registry for updates.
  npm_config_cache: '/dev/null',
  npm_config_logs_max: '0',
  npm_config_update_notifier: 'false',
};

/** @param {Stage} stage */
function start({ argv, paths, environment = [] }) {
  const program = paths.find((path) => existsSync(path));
  if (program === undefined) return null;
  const args = argv.slice(1).map((arg) => (typeof arg === 'string' ? arg : arg.glob.replace(/\\([\s\S])/g, '$1')));
  const own = environment.map((variable) => [variable.split('=', 1)[0], variable.replace(/^[^=]*=?/, '')]);
  const child = spawn(program, args, {
    env: { ...ENV, ...Object.fromEntries(own) },
    cwd: '/',
    stdio: 'pipe',
    detached: true,
  });
  child.on('error', () => {}); // a NUL in an argument, or an invalid program
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => {});
  child.stderr.resume();
  return child;
}

/**
 * Kills a process with its children: a `tail -f` of a killed xargs keeps its output open, and continues.
 * @param {import('node:child_process').ChildProcess} child
 */
function end({ pid }) {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error;
  }
}

/** @param {Stage[]} stages */
async function pipeline(stages) {
  const children = stages.map(start);
  const [first] = children;
  if (first) first.stdin.end();
  for (const [n, child] of children.entries()) {
    const next = children[n + 1];
    if (child && next) child.stdout.pipe(next.stdin);
    else child?.stdout.resume();
    if (!child) next?.stdin.end();
  }
  const running = children.filter((child) => child !== null).filter((child) => child.pid !== undefined);
  const timer = setTimeout(() => {
    running.forEach(end);
  }, TIME_LIMIT_MS);
  await Promise.all(running.filter((child) => child.exitCode === null).map((child) => once(child, 'exit')));
  clearTimeout(timer);
  running.forEach(end);
  return running.length > 0;
}

for (const [index, pipelines] of JSON.parse(readFileSync(0, 'utf8')).entries()) {
  let started = false;
  for (const stages of pipelines) started = (await pipeline(stages)) || started;
  process.stdout.write(`${JSON.stringify({ index, started })}\n`);
}
