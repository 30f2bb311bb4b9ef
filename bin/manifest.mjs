// @ts-check
/** @module Which scripts of the CLI are in the cache, and of what they were made. */
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../worker/config/artifacts.mjs';

/**
 * @typedef {object} Manifest
 * @property {string} build Name of the folder beside it that has the scripts.
 * @property {Record<string, string>} sources Digest of each of our files, by its path in the repository.
 * @property {Record<string, string>} packages Size and time of change of each file of a package, which are too many to read.
 */

/**
 * @param {string} cache
 * @returns {string} the folder of this repository's scripts: they name its files
 */
export function programFolder(cache) {
  return join(cache, 'program', digestOf(repository));
}

/** @param {string} folder */
export const manifestPath = (folder) => join(folder, 'manifest.json');

/**
 * @param {string} folder
 * @returns {Manifest | null} null when there is none, or none that can be read: then it is made anew
 */
export function readManifest(folder) {
  try {
    return JSON.parse(readFileSync(manifestPath(folder), 'utf8'));
  } catch {
    return null;
  }
}

/**
 * @param {Manifest} manifest
 * @returns {boolean} whether every file is as it was then
 */
export function isAsIn({ sources, packages }) {
  try {
    return (
      Object.entries(packages).every(([path, stamp]) => stampOf(join(repository, path)) === stamp) &&
      Object.entries(sources).every(([path, digest]) => digestOf(readFileSync(join(repository, path))) === digest)
    );
  } catch {
    // A file that is no longer there.
    return false;
  }
}

/** @param {string | Buffer} content */
export function digestOf(content) {
  return createHash('sha256').update(content).digest('base64url').slice(0, 22);
}

/** @param {string} path */
export function stampOf(path) {
  const { size, mtimeMs, ctimeMs } = statSync(path);
  return `${size} ${mtimeMs} ${ctimeMs}`;
}
