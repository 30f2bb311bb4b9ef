import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { TestMachine } from './machine.ts';

const script = new URL('./step-process.ts', import.meta.url).pathname;

/**
 * Runs a step in a process of its own and kills that so many ms after the step began.
 * @param of the source or the snapshot that the step is about
 */
export async function killedAfter(
  machine: TestMachine,
  ms: number,
  step: string,
  id: string,
  of: string,
): Promise<void> {
  const { uri, state, leaseFolder } = machine;
  const argv = ['--import', 'tsx', script, uri, state.root, leaseFolder, step, id, of];
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  await delay(ms); // the moment of death is what is varied here
  child.kill('SIGKILL');
  await ended;
}
