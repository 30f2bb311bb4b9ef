// @ts-check
/**
 * What tests left on this machine. A product that promises to leave nothing behind has tests that leave nothing behind.
 *
 * @module
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { entriesOf } from './namespace.mjs';

/** @typedef {{ kind: string, what: string[] }} Leftover */

/** Folders that tools, not tests, keep in TMPDIR for their next run. */
const toolCaches = /^(tsx-\d+|node-compile-cache|v8-compile-cache.*)$/;

/**
 * Network namespaces that Mayfly makes are named so, after the process that made them.
 * @param {string} name
 */
function isAbandonedByMayfly(name) {
  const owner = /^mayfly-.*?(\d+)$/.exec(name)?.[1];
  return owner !== undefined && !entriesOf('/proc').includes(owner);
}

/** @returns {Set<string>} namespaces that are there before the tests run */
export function namespacesNow() {
  return new Set(entriesOf('/run/netns'));
}

/**
 * Looks for what a finished run left; one entry for each kind.
 * @param {import('./namespace.mjs').TestPlace} place
 * @param {Set<string>} before What `namespacesNow` said before the run.
 * @returns {Promise<Leftover[]>}
 */
export async function findLeftovers(place, before) {
  /** @type {Map<string, string[]>} */
  const found = new Map();
  /** @type {(kind: string, what: string) => void} */
  const add = (kind, what) => {
    found.set(kind, [...(found.get(kind) ?? []), what]);
  };

  for (const { pid, name, command } of await place.lingering()) add(`${name} processes`, `${pid} ${command}`);
  for (const entry of entriesOf(place.root)) if (join(place.root, entry) !== place.tmp) add('files', entry);
  for (const entry of entriesOf(place.tmp)) if (!toolCaches.test(entry)) add('files', `tmp/${entry}`);
  for (const name of namespacesNow()) {
    // One whose owner still runs belongs to a demo or a test run beside this one.
    if (!before.has(name) && isAbandonedByMayfly(name)) add('network namespaces', name);
  }
  for (const line of readFileSync('/proc/self/mounts', 'utf8').split('\n')) {
    const target = line.split(' ')[1] ?? '';
    if (target.startsWith(`${place.root}/`)) add('mounts', target);
  }
  return [...found].map(([kind, what]) => ({ kind, what }));
}
