// @ts-check
/**
 * Network namespace and folder of one lane of a test run. Both carry the number of the process that made them, so that
 * the next run recognizes the residue of a killed one.
 *
 * @module
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cgroup } from './cgroup.mjs';

const prefix = 'mayfly-test-';
const named = /^mayfly-test-([a-z]+)-(\d+)$/;
const namespaces = '/run/netns';

/** On disk, unlike /tmp on many machines: disk images are written there. */
const folders = '/var/tmp';

/** Time for processes to end after vitest: sockets are still being closed. */
const graceMs = 2_000;

/** @typedef {{ pid: number, command: string }} Process */

export class TestPlace {
  /**
   * @param {string} lane
   * @param {number} pid Of the process that owns it.
   */
  constructor(lane, pid) {
    this.name = `${prefix}${lane}-${pid}`;
    /** Folder for the tests' files; searchable by other users, because QEMU runs as one. */
    this.root = join(folders, this.name);
    /** The tests' TMPDIR. */
    this.tmp = join(this.root, 'tmp');
    this.cgroup = new Cgroup(this.name);
  }

  /**
   * Makes a place for a lane of this run.
   * @param {string} lane Lower-case letters.
   */
  static make(lane) {
    const place = new TestPlace(lane, process.pid);
    mkdirSync(place.root);
    chmodSync(place.root, 0o711);
    mkdirSync(place.tmp);
    chmodSync(place.tmp, 0o1777);
    Cgroup.make(place.name);
    execFileSync('ip', ['netns', 'add', place.name]);
    execFileSync('ip', ['-n', place.name, 'link', 'set', 'lo', 'up']);
    return place;
  }

  /** @returns {TestPlace[]} places whose owner has ended */
  static abandoned() {
    const names = new Set([...entriesOf(namespaces), ...entriesOf(folders), ...Cgroup.names()]);
    return [...names].flatMap((name) => {
      const [, lane, pid] = named.exec(name) ?? [];
      return lane && pid && !entriesOf('/proc').includes(pid) ? [new TestPlace(lane, Number(pid))] : [];
    });
  }

  /**
   * Returns the command line that runs a program in this place.
   * @param {readonly string[]} argv
   * @returns {string[]}
   */
  inside(argv) {
    return this.cgroup.inside(['ip', 'netns', 'exec', this.name, ...argv]);
  }

  /** @returns {Process[]} all processes of its cgroup, in any namespace */
  processes() {
    return this.cgroup.pids().flatMap((pid) => {
      try {
        return [{ pid, command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() }];
      } catch (error) {
        // it ended after the list was read
        if (['ENOENT', 'ESRCH'].includes(/** @type {NodeJS.ErrnoException} */ (error).code ?? '')) return [];
        throw error;
      }
    });
  }

  /** @returns {Promise<Process[]>} processes that still run after a grace period */
  async lingering() {
    const deadline = Date.now() + graceMs;
    while (this.processes().length > 0 && Date.now() < deadline) await sleep(50);
    return this.processes();
  }

  /**
   * Signals all processes of its cgroup.
   * @param {NodeJS.Signals} signal
   */
  endAll(signal) {
    for (const { pid } of this.processes()) {
      try {
        process.kill(pid, signal);
      } catch (error) {
        // It ended in between.
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error;
      }
    }
  }

  /** Ends all of its processes, and removes cgroup, namespace and folder. */
  async remove() {
    this.endAll('SIGTERM');
    await this.lingering();
    await this.cgroup.remove();
    if (entriesOf(namespaces).includes(this.name)) execFileSync('ip', ['netns', 'delete', this.name]);
    rmSync(this.root, { recursive: true, force: true });
  }
}

/**
 * @param {string} folder
 * @returns {string[]} empty for a missing folder
 */
export function entriesOf(folder) {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return [];
    throw error;
  }
}
