import { deriveAttemptIds } from '../../model/functions/run.ts';
import { useTestDoor } from './door.ts';
import { eventually } from './eventually.ts';
import { type Run, TestFunctions } from './functions.ts';
import { useSagaCases } from './saga-cases.ts';

/** Command of a function that prints `started` and then waits for its end. */
export const SLEEPS = 'echo started; sleep 1000';

export const isRunning = ({ state, attempts }: Run) => state === 'running' && attempts.length > 0;

/** Extends {@link useSagaCases} by the API and functions. */
export function useFunctionCases(given: Parameters<typeof useSagaCases>[0] = {}) {
  const cases = useSagaCases(given);
  const door = useTestDoor(cases.mayfly);
  const functions = new TestFunctions(door);

  /** Triggers a run with faults armed before it starts. @param arm arms its steps, or those of its first sandbox */
  async function triggerArmed(
    command: string,
    more: object,
    arm: (ids: { runId: string; sandboxId: string }) => void | Promise<void>,
  ): Promise<Run> {
    const name = await functions.deploy(command, more);
    await functions.pause(name);
    const { id } = await functions.trigger(name);
    await arm({ runId: id, sandboxId: deriveAttemptIds(id, 1).sandboxId });
    await functions.resume(name);
    return functions.get(id);
  }

  /** Waits until the process of a run of {@link SLEEPS} has started. */
  async function awaitStart(id: string): Promise<Run> {
    const run = await functions.until(id, isRunning);
    await eventually(() => functions.output(id), /started/);
    return run;
  }

  return { ...cases, door: () => door, functions: () => functions, triggerArmed, awaitStart };
}
