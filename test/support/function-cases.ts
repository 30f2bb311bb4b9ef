import { afterAll, beforeAll } from 'vitest';
import { attemptIds } from '../../model/functions/run.ts';
import { TestDoor } from './door.ts';
import { eventually } from './eventually.ts';
import { type Run, TestFunctions } from './functions.ts';
import { useSagaCases } from './saga-cases.ts';

/** Command of a function that prints `started` and then waits for its end. */
export const SLEEPS = 'echo started; sleep 1000';

export const isRunning = ({ state, attempts }: Run) => state === 'running' && attempts.length > 0;

/** {@link useSagaCases} with the API before it, and functions in it. */
export function useFunctionCases(given: Parameters<typeof useSagaCases>[0] = {}) {
  const cases = useSagaCases(given);
  let door: TestDoor | undefined;
  let functions: TestFunctions | undefined;
  beforeAll(async () => {
    door = await TestDoor.open(cases.mayfly());
    functions = new TestFunctions(door);
  });
  afterAll(() => door?.close());
  const getDoor = () => {
    if (!door) throw new Error('the API is not open yet');
    return door;
  };
  const getFunctions = () => {
    if (!functions) throw new Error('the API is not open yet');
    return functions;
  };

  /**
   * Triggers a run whose faults are set before it begins.
   * @param arm sets faults at its steps, or at those of its first sandbox
   */
  async function triggerArmed(
    command: string,
    more: object,
    arm: (ids: { runId: string; sandboxId: string }) => void | Promise<void>,
  ): Promise<Run> {
    const name = await getFunctions().deploy(command, more);
    await getFunctions().pause(name);
    const { id } = await getFunctions().trigger(name);
    await arm({ runId: id, sandboxId: attemptIds(id, 1).sandboxId });
    await getFunctions().resume(name);
    return getFunctions().get(id);
  }

  /** Waits until the process of a run of {@link SLEEPS} has started. */
  async function awaitStart(id: string): Promise<Run> {
    const run = await getFunctions().until(id, isRunning);
    await eventually(
      () => getFunctions().output(id),
      (text) => text.includes('started'),
    );
    return run;
  }

  return { ...cases, door: getDoor, functions: getFunctions, triggerArmed, awaitStart };
}
