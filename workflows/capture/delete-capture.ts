import { failureOf, refusedOrFailed } from '../saga/failure.ts';
import type { CaptureLife } from './capture-life.ts';
import { captureSteps } from './capture-steps.ts';

/**
 * Takes a capture away, or leaves it as it was when something refers to it:
 *
 *   deleting → removeCapture → deleted, or back to ready
 */
export async function deleteCapture(life: CaptureLife): Promise<void> {
  const { state } = await life.recall();
  if (state === 'deleted' || state === 'failed') return;
  // One that is `creating` has lost its workflow, or this one could not run: what there is of it goes too.
  await life.recordChange({ state: 'deleting' }, { kind: 'capture.deleting', detail: {} });
  const { wish, undos } = captureSteps(life);
  try {
    await wish.removeCapture();
  } catch (error) {
    const failure = failureOf(error, life.failedStep);
    if (failure.code === 'capture_in_use') {
      await life.recordChange(
        { state: 'ready', waitingFor: failure.message },
        { kind: 'capture.kept', detail: { why: failure.message } },
      );
      return refusedOrFailed(failure, ['removeCapture'], undefined);
    }
    await life.recordChange({ waitingFor: `removeCapture: ${failure.message}` });
    await undos.removeCapture();
  }
  await life.recordChange({ state: 'deleted', waitingFor: null }, { kind: 'capture.deleted', detail: {} });
}
