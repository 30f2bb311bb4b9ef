// @ts-check
/**
 * Cgroup (version 2) for the processes of a test run: every process that one of them starts stays in it, also a daemon
 * that leaves its session. No controller is needed: `cpu.stat` counts in every cgroup (kernel: admin-guide/cgroup-v2).
 *
 * @module
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const EXIT_POLL_MS = 10;

/** Returns the mount point of cgroup version 2, also when version 1 is mounted. @throws Error when there is none */
function mountPoint() {
  for (const line of readFileSync('/proc/self/mounts', 'utf8').split('\n')) {
    const [, path = '', type] = line.split(' ');
    if (type === 'cgroup2') return path;
  }
  throw new Error('no cgroup2 is mounted, and tests measure their processor time with one: mount -t cgroup2 none DIR');
}

export class Cgroup {
  /** @param {string} name Below the mount point. */
  constructor(name) {
    this.path = join(mountPoint(), name);
  }

  /** @param {string} name */
  static make(name) {
    const made = new Cgroup(name);
    mkdirSync(made.path, { recursive: true });
    return made;
  }

  /** @returns {string[]} names of the cgroups at the mount point */
  static names() {
    return foldersIn(mountPoint());
  }

  /**
   * Returns the command line that runs a program in this cgroup.
   * @param {readonly string[]} argv
   */
  inside(argv) {
    return ['sh', '-c', 'echo 0 >"$0" && exec "$@"', join(this.path, 'cgroup.procs'), ...argv];
  }

  /** Returns the processor time of all processes so far, including ended ones: user and system, seconds. */
  seconds() {
    const [, usage] = /^usage_usec (\d+)$/m.exec(readFileSync(join(this.path, 'cpu.stat'), 'utf8')) ?? [];
    return Number(usage) / 1_000_000;
  }

  /** @returns {number[]} ids of the processes in this cgroup and below */
  pids() {
    return subtree(this.path).flatMap((path) =>
      readFileSync(join(path, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number),
    );
  }

  /** Kills its processes, and removes it with the cgroups below it. */
  async remove() {
    for (const path of subtree(this.path).reverse()) {
      writeFileSync(join(path, 'cgroup.kill'), '1');
      while (isPopulated(path)) await sleep(EXIT_POLL_MS); // the kernel is ending them
      rmdirSync(path);
    }
  }
}

/** @param {string} path */
const isPopulated = (path) => readFileSync(join(path, 'cgroup.events'), 'utf8').includes('populated 1');

/** @param {string} path @returns {string[]} itself first; empty where there is none */
function subtree(path) {
  if (!existsSync(path)) return [];
  return [path, ...foldersIn(path).flatMap((name) => subtree(join(path, name)))];
}

/** @param {string} path */
function foldersIn(path) {
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}
