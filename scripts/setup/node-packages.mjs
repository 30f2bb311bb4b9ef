// @ts-check
/** @module The packages of package-lock.json, in node_modules. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDir, onPath, repository } from './artifacts.mjs';
import { withLock } from './cache.mjs';
import { run } from './run.mjs';

/** Says which lock file node_modules was filled from. Inside it, so that removing it removes the claim. */
const stamp = join(repository, 'node_modules', '.mayfly-lock-digest');

/** @param {string} text */
const digestOf = (text) => createHash('sha256').update(text).digest('hex');
const wanted = () => digestOf(readFileSync(join(repository, 'package-lock.json'), 'utf8'));

/** @returns {import('./part.mjs').State} */
function look() {
  const present = existsSync(stamp) ? readFileSync(stamp, 'utf8').trim() : null;
  if (present === wanted()) return { ready: true, detail: 'as package-lock.json says' };
  return { ready: false, detail: present === null ? 'not installed by set-up yet' : 'older than package-lock.json' };
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
      job.note('npm ci');
      await rm(stamp, { force: true });
      // No install scripts: nothing here needs them, and a dependency should not run code on this machine as root.
      await run(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund'], { ...job, cwd: repository });
      await writeFile(stamp, `${wanted()}\n`);
    }),
};
