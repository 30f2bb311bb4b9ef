import { afterAll, beforeAll } from 'vitest';
import { startMachine, type TestMachine } from './machine.ts';

/** Starts a machine for all tests of a file. */
export function useMachine(): () => TestMachine {
  let machine: TestMachine | null = null;
  beforeAll(async () => {
    machine = await startMachine();
  });
  afterAll(() => machine?.end());
  return () => {
    if (!machine) throw new Error('the machine has not been started');
    return machine;
  };
}
