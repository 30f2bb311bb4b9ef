import { failureOf } from '../saga/failure.ts';
import type { SourceLife } from './source-life.ts';
import { sourceSteps } from './source-steps.ts';

/**
 * Takes back all that preparing made, in the opposite order, each until it holds. "Not there" is success; a source that
 * is shut off makes it wait, and the record says so. One in which nothing was ever changed, since preparing it was
 * refused, is not waited for.
 */
export async function unprepareSource(life: SourceLife): Promise<void> {
  const { undos } = sourceSteps(life);
  if ((await life.known()).state === 'unprepared') return lookForNothing(life);
  await life.recordChange({ state: 'unpreparing' });
  await undos.forgetSource();
  await undos.excludeReader();
  await undos.distrustUserCa();
  await undos.removeReader();
  await undos.removeGate();
  await undos.releaseSource();
  await life.recordChange(
    { state: 'unprepared', gateVersion: null, changes: [], preparedAt: null, failure: null, waitingFor: null },
    { kind: 'source.unprepared', detail: {} },
  );
}

/** By our record there is nothing. What a record may have lost is taken away where the source can be reached. */
async function lookForNothing(life: SourceLife): Promise<void> {
  const { undos, sweep } = sourceSteps(life);
  await undos.forgetSource();
  let notLookedAt: string | null = null;
  try {
    await sweep.excludeReader();
    await sweep.distrustUserCa();
    await sweep.removeReader();
    await sweep.removeGate();
    await sweep.releaseSource();
  } catch (error) {
    notLookedAt = failureOf(error, life.failedStep).message;
  }
  await life.recordChange(
    { state: 'unprepared', gateVersion: null, changes: [], preparedAt: null, failure: null, waitingFor: null },
    { kind: 'source.unprepared', detail: { notLookedAt } },
  );
}
