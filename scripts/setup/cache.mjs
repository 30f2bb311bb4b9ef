// @ts-check
/**
 * Puts things into the cache atomically, also with several set-ups at once.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SetupProblem } from './problem.mjs';
import { run } from './run.mjs';

/**
 * Makes the folder `target` by building it elsewhere on the same file system, and renaming it.
 *
 * @param {object} options
 * @param {string} options.target Folder to make; its name is its version.
 * @param {string} options.proof Name of the file in it without which it does not count as made.
 * @param {AbortSignal} options.signal
 * @param {(text: string) => void} options.note Prints why set-up waits.
 * @param {(folder: string, scratch: string) => Promise<void>} options.build Fills an empty folder; the scratch folder
 * is deleted.
 * @returns {Promise<void>}
 */
export async function buildOnce({ target, proof, signal, note, build }) {
  const parent = dirname(target);
  await mkdir(parent, { recursive: true, mode: 0o700 });
  await withLock(join(parent, '.lock'), { signal, note }, async () => {
    if (existsSync(join(target, proof))) return;

    // With the lock held, partial folders are residue of a set-up that died.
    for (const name of await readdir(parent)) {
      if (name.includes('.part-') || name === basename(target))
        await rm(join(parent, name), { recursive: true, force: true });
    }
    const part = await mkdtemp(`${target}.part-`);
    const [made, scratch] = [join(part, 'made'), join(part, 'scratch')];
    try {
      await Promise.all([mkdir(made), mkdir(scratch)]);
      await build(made, scratch);
      await run(['sync', '--file-system', made], { signal });
      await rename(made, target);
    } finally {
      await rm(part, { recursive: true, force: true });
    }
  });
}

/**
 * Runs `work` while no other process holds the lock on `file`.
 *
 * The kernel holds the lock for a `cat` that lives as long as its pipe to this process: it ends with it, even after a
 * kill.
 *
 * @template T
 * @param {string} file Made if absent; it stays, because removing a lock file lets two hold it.
 * @param {{ signal: AbortSignal, note: (text: string) => void }} options
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(file, { signal, note }, work) {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const holder = spawn('flock', ['--no-fork', file, 'cat'], { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  const ended = new Promise((resolve) => holder.once('close', resolve));
  const stop = () => holder.kill();
  signal.addEventListener('abort', stop);
  const waiting = setTimeout(() => note('waiting for another set-up that is making this'), 1_000);
  try {
    await new Promise((resolve, reject) => {
      holder.once('error', (error) =>
        reject(
          new SetupProblem(
            `flock from util-linux is needed to keep set-ups apart (${error.message}): apt-get install util-linux`,
          ),
        ),
      );
      holder.once('close', () => reject(signal.aborted ? signal.reason : new SetupProblem(`cannot lock ${file}`)));
      holder.stdout.once('data', resolve);
      holder.stdin.on('error', reject);
      holder.stdin.write('\n');
    });
    clearTimeout(waiting);
    return await work();
  } finally {
    clearTimeout(waiting);
    signal.removeEventListener('abort', stop);
    holder.stdin.end();
    await ended;
  }
}
