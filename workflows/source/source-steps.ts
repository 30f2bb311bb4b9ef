import type { Targeted } from '../saga/host-activities.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';
import type { SourceLife } from './source-life.ts';
import { taskSteps, taskUndos } from './task-life.ts';

/** Under emulation the slowest, carrying the gate over the agent's channel, takes half a minute. */
const STEP = PROFILE.step(3 * MINUTE_MS, { totalMs: 8 * MINUTE_MS });

type SourceSteps = Targeted<{ sandboxId: string; generation: number; source: string }>;

/** The steps on one source, and their compensations. */
export function sourceSteps(life: SourceLife): Record<'step' | 'undos' | 'sweep', SourceSteps> {
  const { sourceId: sandboxId, hostId, name: source } = life.input;
  const target = { sandboxId, source };
  const summary = `${source} on ${hostId}`;
  return {
    step: taskSteps(life, life.input, target, { ...STEP, summary }),
    undos: taskUndos(life, life.input, target, summary),
    /** Compensations as steps: each is tried a few times, and gives up. */
    sweep: taskSteps(life, life.input, target, { ...STEP, summary }, life.generation + 1),
  };
}
