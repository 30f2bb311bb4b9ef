// @ts-check
/**
 * @module The packages of package-lock.json in node_modules: those of the runtime, or all with their generated files.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDir, onPath, repository } from '../../worker/config/artifacts.mjs';
import { withLock } from './cache.mjs';
import { SetupProblem } from './problem.mjs';
import { run } from './run.mjs';

/** File with the digest of the lock file that node_modules was filled from. Removing node_modules removes it, too. */
const stamp = join(repository, 'node_modules', '.mayfly-lock-digest');

/** @param {string} text */
const digestOf = (text) => createHash('sha256').update(text).digest('hex');
const lockFile = join(repository, 'package-lock.json');
const wanted = () => digestOf(readFileSync(lockFile, 'utf8'));

/** Suffix of the digest when development packages are left out. */
const runtimeOnly = ' runtime';

/** @returns {'all' | 'runtime' | 'older' | 'none'} which packages of the present lock file are installed */
function installed() {
  if (!existsSync(stamp)) return 'none';
  const present = readFileSync(stamp, 'utf8').trim();
  if (present === wanted()) return 'all';
  return present === wanted() + runtimeOnly ? 'runtime' : 'older';
}

/** Types of the client, which `npm run types` regenerates. */
const clientTypes = join(repository, 'clients', 'typescript', 'http', 'openapi.ts');

/**
 * Flags of npm. No install scripts: nothing here needs them, and a dependency should not run code on this machine as
 * root. Without the log level, errors would be lost below `npm test --silent`.
 */
const quietly = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];

/**
 * @param {'all' | 'runtime'} which
 * @param {import('./part.mjs').Job} job
 */
async function install(which, { signal, note }) {
  const options = { signal, cwd: repository, nice: true };
  const flags = [...quietly, ...(which === 'runtime' ? ['--omit=dev'] : [])];
  // Adds missing packages and keeps installed ones, which `npm ci` would remove first.
  const add = () => run(['npm', 'install', '--no-save', ...flags], options);
  if (installed() === 'runtime') {
    note('npm install of development packages');
    await rm(stamp);
    return add();
  }
  note(which === 'runtime' ? 'npm ci without development packages' : 'npm ci');
  await rm(stamp, { force: true });
  try {
    await run(['npm', 'ci', ...flags], options);
  } catch (error) {
    if (!(error instanceof SetupProblem) || !missesOnlyOtherPlatforms(error.output)) throw error;
    // Registries differ in which platforms' packages they carry, and `npm ci` requires exactly those of the lock file.
    // `npm install` takes the locked versions too, and leaves both files unchanged.
    note('npm install, because the registry carries other platforms than package-lock.json was made with');
    await add();
  }
}

/**
 * Reports whether npm's only complaints about the lock file are missing optional packages.
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

/**
 * @param {string} name
 * @param {'all' | 'runtime'} which
 * @returns {import('./part.mjs').Part}
 */
function packagesPart(name, which) {
  const isInstalled = () => installed() === 'all' || installed() === which;
  const isEnough = () => isInstalled() && (which === 'runtime' || existsSync(clientTypes));
  return {
    name,
    look() {
      if (isEnough()) return { ready: true, detail: 'as package-lock.json says' };
      const detail = {
        none: 'not installed by set-up yet',
        runtime: 'without development packages',
        older: 'older than package-lock.json',
        all: 'without the types of the client',
      }[installed()];
      return { ready: false, detail };
    },
    blockers: () =>
      onPath('npm') === null ? ['npm is missing: install it with Node (Debian: `apt-get install npm`).'] : [],
    remedy: 'check that npm reaches its registry (`npm config get registry`)',
    make: (job) =>
      withLock(join(cacheDir(), 'locks', `node-${digestOf(repository).slice(0, 16)}`), job, async () => {
        if (isEnough()) return;
        if (!isInstalled()) await install(which, job);
        await writeFile(stamp, `${wanted()}${which === 'runtime' ? runtimeOnly : ''}\n`);
        const tsx = ['node_modules/.bin/tsx', 'scripts/client-types.ts'];
        if (which === 'all') await run(tsx, { signal: job.signal, cwd: repository, nice: true });
      }),
  };
}

export const nodePackages = packagesPart('node', 'all');
/** Packages that `npm run demo` needs; `npm test` adds the others. */
export const nodeRuntime = packagesPart('node-runtime', 'runtime');
