// @ts-check
/**
 * Leftovers of tests on this machine, which fail the run.
 *
 * @module
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { entriesOf } from './namespace.mjs';

/** Folders that tools, not tests, keep in TMPDIR for their next run. */
const TOOL_CACHES = /^(tsx-\d+|node-compile-cache|v8-compile-cache.*)$/;

/** Records after which file each thing first appeared, to report a leftover with its file. */
export class LeftoverWatch {
  #place;
  #before = new Set(entriesOf('/run/netns'));
  /** @type {Map<string, string>} File by observed thing. */
  #firstSeen = new Map();

  /** @param {import('./namespace.mjs').TestPlace} place */
  constructor(place) {
    this.#place = place;
  }

  /** @param {string} file File that has just ended. */
  noteEndOf(file) {
    for (const what of this.#list()) if (!this.#firstSeen.has(what)) this.#firstSeen.set(what, file);
  }

  /**
   * Lists the leftovers after the end of vitest.
   * @returns {Promise<{ what: string, file: string }[]>} `file`: after whose end it first appeared; empty: after none
   */
  async find() {
    await this.#place.lingering();
    return [...this.#list()].map((what) => ({ what, file: this.#firstSeen.get(what) ?? '' }));
  }

  *#list() {
    const { root, tmp } = this.#place;
    for (const { pid, command } of this.#place.processes()) yield `process ${pid} ${command}`;
    for (const entry of entriesOf(root)) if (join(root, entry) !== tmp) yield `file ${entry}`;
    for (const entry of entriesOf(tmp)) if (!TOOL_CACHES.test(entry)) yield `file tmp/${entry}`;
    for (const name of entriesOf('/run/netns')) {
      // one whose owner still runs belongs to another demo or test run
      if (!this.#before.has(name) && isAbandonedByMayfly(name)) yield `network namespace ${name}`;
    }
    for (const line of readFileSync('/proc/self/mounts', 'utf8').split('\n')) {
      const target = line.split(' ')[1] ?? '';
      if (target.startsWith(`${root}/`)) yield `mount ${target}`;
    }
  }
}

/**
 * Reports whether a network namespace has the name of one of Mayfly's whose process has ended.
 * @param {string} name
 */
function isAbandonedByMayfly(name) {
  const owner = /^mayfly-.*?(\d+)$/.exec(name)?.[1];
  return owner !== undefined && !entriesOf('/proc').includes(owner);
}
