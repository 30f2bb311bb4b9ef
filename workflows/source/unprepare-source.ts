import { patched } from '@temporalio/workflow';
import { failureOf } from '../saga/failure.ts';
import type { SourceLife } from './source-life.ts';
import { sourceSteps } from './source-steps.ts';

/**
 * Takes back all that preparing made, in the opposite order, each until it holds. "Not there" is success; a source that
 * is shut off makes it wait, and the record says so. One in which nothing was ever changed, since preparing it was
 * refused, is not waited for.
 */
export async function unprepareSource(life: SourceLife): Promise<void> {
  const step = sourceSteps(life);
  if (patched('nothing-to-unprepare') && (await life.known()).state === 'unprepared') return lookForNothing(life);
  await life.recordChange({ state: 'unpreparing' });
  await step.forgetSource();
  await step.excludeReader();
  await step.distrustUserCa();
  await step.removeReader();
  await step.removeGate();
  await step.releaseSource();
  await life.recordChange(
    { state: 'unprepared', gateVersion: null, changes: [], preparedAt: null, failure: null, waitingFor: null },
    { kind: 'source.unprepared', detail: {} },
  );
}

/** By our record there is nothing. What a record may have lost is taken away where the source can be reached. */
async function lookForNothing(life: SourceLife): Promise<void> {
  const step = sourceSteps(life);
  await step.forgetSource();
  const notLookedAt = await step.takeAwayLeftOvers().then(
    () => null,
    (error: unknown) => failureOf(error, life.failedStep).message,
  );
  await life.recordChange(
    { state: 'unprepared', gateVersion: null, changes: [], preparedAt: null, failure: null, waitingFor: null },
    { kind: 'source.unprepared', detail: { notLookedAt } },
  );
}
