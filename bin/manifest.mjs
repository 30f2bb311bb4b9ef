// @ts-check
/** @module Scripts of the CLI in the cache, and the sources they were built from. */
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../worker/config/artifacts.mjs';

/**
 * @typedef {object} Manifest
 * @property {string} build Name of the adjacent folder with the scripts.
 * @property {Record<string, string>} sources Digest of each source file, by its path in the repository.
 * @property {Record<string, string>} packages Size and change time of each file of a package: there are too many to
 * read.
 */

/**
 * @param {string} cache
 * @returns {string} the folder of this repository's scripts, which contain its paths
 */
export function programFolder(cache) {
  return join(cache, 'program', digestOf(repository));
}

/** @param {string} folder */
export const manifestPath = (folder) => join(folder, 'manifest.json');

/**
 * @param {string} folder
 * @returns {Manifest | null} null when it is missing or unreadable: then it is rebuilt
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
 * @returns {boolean} true when every file is unchanged
 */
export function isAsIn({ sources, packages }) {
  try {
    return (
      Object.entries(packages).every(([path, stamp]) => stampOf(join(repository, path)) === stamp) &&
      Object.entries(sources).every(([path, digest]) => digestOf(readFileSync(join(repository, path))) === digest)
    );
  } catch {
    // A file was removed.
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
