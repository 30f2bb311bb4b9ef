import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { delayFault } from '../../support/passage-of-time.ts';
import type { TestMachine } from './machine.ts';

const script = new URL('./step-process.ts', import.meta.url).pathname;

/**
 * Starts a step in a separate process.
 * @param of source or snapshot of the step
 * @returns function that kills that process
 */
export async function beginStep(
  { uri, state, leaseFolder }: TestMachine,
  step: string,
  id: string,
  of: string,
): Promise<() => Promise<void>> {
  const argv = ['--import', 'tsx', script, uri, state.root, leaseFolder, step, id, of];
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  return async () => {
    child.kill('SIGKILL');
    await ended;
  };
}

/** Runs a step in a separate process, and kills that this many ms after the step's start. */
export async function killedAfter(
  machine: TestMachine,
  ms: number,
  step: string,
  id: string,
  of: string,
): Promise<void> {
  const kill = await beginStep(machine, step, id, of);
  await delayFault(ms); // the moment of the kill is the variable here
  await kill();
}
