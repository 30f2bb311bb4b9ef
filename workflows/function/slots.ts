import { condition, sleep } from '@temporalio/workflow';
import { controlUntilDone } from '../saga/control.ts';
import type { RunLife } from './run-life.ts';

/** Who admits it tells; should nobody, it looks so often. Milliseconds. */
const LOOK_MS = { first: 15_000, most: 600_000, factor: 1.5 };

/** Waits in the queue of its function until a run has its slots again, which it has given back, or is cancelled. */
export async function untilItHasSlots(life: RunLife): Promise<void> {
  const { runId } = life.input;
  for (let lookMs = LOOK_MS.first; ; lookMs = Math.min(LOOK_MS.most, lookMs * LOOK_MS.factor)) {
    const { looks } = life;
    if (await controlUntilDone.hasSlots({ runId })) return;
    if (life.cancelledBy !== null) return sleep('1s'); // its record says so before it is told
    await condition(() => life.looks !== looks || life.cancelledBy !== null, lookMs);
  }
}
