import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterEach } from 'vitest';
import { storeCachePath } from '../../worker/config/artifacts.mjs';
import { useFreshFolder } from '../support/use-folder.ts';

/** Sets up the embedded store's program, with its own folder for each test. */
export function useEmbeddedStore() {
  const folder = useFreshFolder();
  let child: ChildProcess | undefined;
  const getChild = () => {
    if (!child) throw new Error('the store has not been started');
    return child;
  };

  /** Starts the store. @returns its URI */
  async function start(...args: string[]): Promise<string> {
    child = spawn(storeCachePath(), ['--dir', folder, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
    if (!child.stdout) throw new Error('the store has no standard output');
    for await (const line of createInterface({ input: child.stdout })) return (JSON.parse(line) as { uri: string }).uri;
    throw new Error('the store ended before it was ready');
  }

  /** Ends it by a signal. @returns its exit code */
  async function end(signal: NodeJS.Signals): Promise<number | null> {
    const ended = getChild();
    if (ended.exitCode !== null || ended.signalCode !== null) return ended.exitCode;
    ended.kill(signal);
    await once(ended, 'exit');
    return ended.exitCode;
  }

  afterEach(async () => {
    if (child) await end('SIGKILL');
  });
  return { start, end, child: getChild, folder: () => folder };
}

export const repeat = <T>(count: number, work: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => work(i)));
