import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { delayFault } from '../../support/passage-of-time.ts';
import type { TestMachine } from './machine.ts';

const script = new URL('./step-process.ts', import.meta.url).pathname;

/**
 * Begins a step in a process of its own.
 * @param of the source or the snapshot that the step is about
 * @returns what kills that process
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

/** Runs a step in a process of its own and kills that so many ms after the step began. */
export async function killedAfter(
  machine: TestMachine,
  ms: number,
  step: string,
  id: string,
  of: string,
): Promise<void> {
  const kill = await beginStep(machine, step, id, of);
  await delayFault(ms); // the moment of death is what is varied here
  await kill();
}
