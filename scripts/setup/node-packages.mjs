// @ts-check
/** @module The packages of package-lock.json, in node_modules. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDir, onPath, repository } from '../../worker/config/artifacts.mjs';
import { withLock } from './cache.mjs';
import { SetupProblem } from './problem.mjs';
import { run } from './run.mjs';

/** Says which lock file node_modules was filled from. Inside it, so that removing it removes the claim. */
const stamp = join(repository, 'node_modules', '.mayfly-lock-digest');

/** @param {string} text */
const digestOf = (text) => createHash('sha256').update(text).digest('hex');
const lockFile = join(repository, 'package-lock.json');
const wanted = () => digestOf(readFileSync(lockFile, 'utf8'));

/** @returns {import('./part.mjs').State} */
function look() {
  const present = existsSync(stamp) ? readFileSync(stamp, 'utf8').trim() : null;
  if (present === wanted()) return { ready: true, detail: 'as package-lock.json says' };
  return { ready: false, detail: present === null ? 'not installed by set-up yet' : 'older than package-lock.json' };
}

/**
 * No install scripts: nothing here needs them, and a dependency should not run code on this machine as root. Below
 * `npm test --silent` npm would not say what is wrong either.
 */
const quietly = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];

/** @param {import('./part.mjs').Job} job */
async function install({ signal, note }) {
  const options = { signal, cwd: repository };
  note('npm ci');
  try {
    await run(['npm', 'ci', ...quietly], options);
  } catch (error) {
    if (!(error instanceof SetupProblem) || !missesOnlyOtherPlatforms(error.output)) throw error;
    // Registries differ in which platforms' packages they carry, and `npm ci` insists on finding the same ones that the
    // lock file was made with. `npm install` takes the locked versions too, and leaves both files as they are.
    note('npm install, because the registry carries other platforms than package-lock.json was made with');
    await run(['npm', 'install', '--no-save', ...quietly], options);
  }
}

/**
 * Whether all that npm found wrong with the lock file is that optional packages are not in it.
 * @param {readonly string[]} output Of `npm ci`.
 */
function missesOnlyOtherPlatforms(output) {
  const wrong = output.filter((line) => /^npm error (Missing|Invalid): /.test(line));
  if (wrong.length === 0) return false;
  /** @type {{ packages: Record<string, { optionalDependencies?: Record<string, string> }> }} */
  const lock = JSON.parse(readFileSync(lockFile, 'utf8'));
  const optional = new Set(
    Object.values(lock.packages).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {})),
  );
  return wrong.every((line) => optional.has(/^npm error Missing: (@?[^@]+)@/.exec(line)?.[1] ?? ''));
}

/** @type {import('./part.mjs').Part} */
export const nodePackages = {
  name: 'node',
  look,
  blockers: () =>
    onPath('npm') === null ? ['npm is missing: install it with Node (Debian: `apt-get install npm`).'] : [],
  make: (job) =>
    withLock(join(cacheDir(), 'locks', `node-${digestOf(repository).slice(0, 16)}`), job, async () => {
      if (look().ready) return;
      await rm(stamp, { force: true });
      await install(job);
      await writeFile(stamp, `${wanted()}\n`);
    }),
};
