// @ts-check
/**
 * Fixed load of JavaScript, hashing and process starts, to compare machines; on every core at once, as tests are, since
 * two cores can be one with two threads. As a program, runs the load once.
 *
 * @module
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Cgroup } from './cgroup.mjs';

/** Processor time of the load on the machine that defines a unit, seconds. */
const FAST_SECONDS = 0.45;
const ROUNDS = 3;

function load() {
  /** @type {Record<string, number>} */
  const counts = {};
  for (let i = 0; i < 2_000_000; i++) {
    const key = `k${(i * 7919) % 5003}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  const block = Buffer.alloc(1 << 20, JSON.stringify(counts));
  for (let i = 0; i < 130; i++) createHash('sha256').update(block).digest();
  for (let i = 0; i < 100; i++) spawnSync('true');
}

/**
 * Measures this machine.
 * @param {string} name Of a temporary cgroup.
 * @returns {Promise<number>} processor seconds of this machine per unit: above 1 if it is slower than the fast one
 */
export async function secondsOfUnit(name) {
  const cgroup = Cgroup.make(name);
  const [program = '', ...args] = cgroup.inside([process.execPath, fileURLToPath(import.meta.url)]);
  const cores = availableParallelism();
  const times = [];
  for (let round = 0; round < ROUNDS; round++) {
    const before = cgroup.seconds();
    const loads = Array.from({ length: cores }, () => once(spawn(program, args, { stdio: 'inherit' }), 'close'));
    for (const [status] of await Promise.all(loads))
      if (status !== 0) throw new Error(`the reference load ended with exit code ${status}`);
    times.push((cgroup.seconds() - before) / cores);
  }
  await cgroup.remove();
  const [, median = 0] = times.toSorted((a, b) => a - b);
  return median / FAST_SECONDS;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) load();
