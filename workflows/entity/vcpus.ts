import { saga } from '../saga/saga.ts';
import type { SandboxEntity } from './entity.ts';
import { stepsOn } from './operation-steps.ts';

/** Halts its CPUs; when that fails, or the sandbox ends meanwhile, they go on. */
export function pauseCpus(entity: SandboxEntity, generation: number): Promise<void> {
  const host = stepsOn(entity, generation);
  return saga(async (undo) => {
    undo('pause', host.undoPause);
    await host.pause();
  });
}

/**
 * Lets its CPUs go on, if its host finds room for what it would write; when that fails, or the sandbox ends meanwhile,
 * they are halted again.
 */
export function resumeCpus(entity: SandboxEntity, generation: number): Promise<void> {
  const host = stepsOn(entity, generation);
  return saga(async (undo) => {
    undo('resume', host.undoResume);
    await host.resume();
  });
}
