import type { SourceLife } from './source-life.ts';
import { sourceSteps } from './source-steps.ts';

/**
 * Takes back all that preparing made, in the opposite order, each until it holds. "Not there" is success; a source that
 * is shut off makes it wait, and the record says so.
 */
export async function unprepareSource(life: SourceLife): Promise<void> {
  const step = sourceSteps(life);
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
