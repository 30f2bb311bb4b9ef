// @ts-check
/**
 * Loads the CLI: its sources and the smaller packages, bundled into a few cached scripts that start in a tenth of the
 * time. They are rebuilt, in half a second, when a source file has changed.
 *
 * @module
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cacheDir, repository } from '../worker/config/artifacts.mjs';
import { isAsIn, programFolder, readManifest } from './manifest.mjs';
import { mapStackTraces } from './stack-traces.mjs';

/** @typedef {typeof import('../cli/main.ts')} Program */

/**
 * @returns {Promise<Program>} the CLI of the current sources. If the cache is not writable, they are translated on
 * load, which takes half a second each time.
 */
export async function loadProgram() {
  const folder = programFolder(cacheDir());
  const made = current(folder) ?? (await make(folder));
  if (made === null) return translated();
  mapStackTraces(made);
  return import(pathToFileURL(join(made, 'main.js')).href);
}

/**
 * @param {string} folder
 * @returns {string | null} folder of scripts built from the current sources
 */
function current(folder) {
  const manifest = readManifest(folder);
  if (manifest === null) return null;
  const made = join(folder, manifest.build);
  return existsSync(join(made, 'main.js')) && isAsIn(manifest) ? made : null;
}

/**
 * @param {string} folder
 * @returns {Promise<string | null>}
 */
async function make(folder) {
  // Daemons may have no home folder, which must not be created for a cache.
  if (!process.env['XDG_CACHE_HOME'] && !existsSync(homedir())) return null;
  try {
    const { build } = await import('./build.mjs');
    return await build(folder, randomBytes(8).toString('hex'));
  } catch (error) {
    if (process.env['MAYFLY_DEBUG'] === '1') process.stderr.write(`no scripts in ${folder}: ${String(error)}\n`);
    return null;
  }
}

/** @returns {Promise<Program>} */
async function translated() {
  const { register } = await import('tsx/esm/api');
  register();
  return import(pathToFileURL(join(repository, 'cli', 'main.ts')).href);
}
