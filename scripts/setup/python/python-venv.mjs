// @ts-check
/**
 * @module Virtual environments of Python in the cache, one per list of requirements: for building and checking alone.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir, onPath } from '../../../worker/config/artifacts.mjs';
import { buildOnce } from '../cache.mjs';
import { installPackages } from '../debian-packages.mjs';
import { SetupProblem } from '../problem.mjs';
import { run } from '../run.mjs';

/**
 * @param {string} requirements Path of a list that pip reads.
 * @returns {string} folder of its environment, made or not
 */
function folderOf(requirements) {
  const version = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 16);
  return join(cacheDir(), 'python', version);
}

/**
 * @param {string} requirements Path of a list that pip reads.
 * @returns {string | null} Python with these packages; null: not made yet.
 */
export function readyVenv(requirements) {
  const folder = folderOf(requirements);
  return existsSync(join(folder, 'made')) ? join(folder, 'bin', 'python') : null;
}

/**
 * @param {string} requirements Path of a list that pip reads.
 * @param {{ signal: AbortSignal, note: (text: string) => void }} job
 * @returns {Promise<string>} Python with these packages. Call its programs with `-m`: the folder was renamed.
 * @throws {SetupProblem} when no suitable Python is available
 */
export async function makeVenv(requirements, { signal, note }) {
  await havePython({ signal, note });
  const target = folderOf(requirements);
  await buildOnce({
    target,
    proof: 'made',
    signal,
    note,
    build: async (folder) => {
      await run(['python3', '-m', 'venv', folder], { signal });
      const pip = [join(folder, 'bin', 'python'), '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
      await run([...pip, '-r', requirements], { signal });
      await run(['touch', join(folder, 'made')], { signal });
    },
  });
  return join(target, 'bin', 'python');
}

/** Checks Python's version, venv and ensurepip, which Debian packages separately. */
const canMakeOne = () =>
  spawnSync('python3', ['-c', 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))']).status === 0;

/**
 * @param {import('../part.mjs').Job} job
 * @throws {SetupProblem}
 */
async function havePython(job) {
  if (canMakeOne()) return;
  const mayInstall = onPath('apt-get') !== null && process.getuid?.() === 0;
  if (mayInstall) await installPackages(['python3', 'python3-venv'], job);
  if (!canMakeOne())
    throw new SetupProblem('No python3 of 3.11 or newer with venv is there: apt-get install python3 python3-venv.');
}
