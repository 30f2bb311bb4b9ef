import type { SavedCapture } from '../../model/snapshots/capture.ts';
import type { CaptureCreation } from '../../model/snapshots/capture-saga.ts';
import { untilCancelled } from '../saga/cancellation.ts';
import { failureOf, refusedOrFailed } from '../saga/failure.ts';
import { now } from '../saga/now.ts';
import { saga } from '../saga/saga.ts';
import type { CaptureLife } from './capture-life.ts';
import { captureSteps } from './capture-steps.ts';

/**
 * From a running source to a copy of one moment of it that is known to be whole:
 *
 *   record → reserve → begin (freeze, begin the copy, thaw) → await → verify → keep (its final name) → ready
 *
 * The source goes on meanwhile. When a step fails, the source is thawed, the copying ended and what was copied removed,
 * each until it holds; only then is the capture called `failed`.
 */
export async function takeCapture(life: CaptureLife, creation: CaptureCreation): Promise<void> {
  const { state } = await life.begin(creation);
  if (state !== 'creating') return; // the workflow was reset
  try {
    const saved = await untilCancelled(() => copy(life));
    await life.recordChange({ state: 'ready', readyAt: now(), saved }, { kind: 'capture.ready', detail: { ...saved } });
  } catch (error) {
    const failure = failureOf(error, life.failedStep);
    await life.recordChange(
      { state: 'failed', failure, waitingFor: null },
      { kind: 'capture.failed', detail: { failure } },
    );
    refusedOrFailed(failure, ['reserveCapture'], undefined);
  }
}

function copy(life: CaptureLife): Promise<SavedCapture> {
  const { step, longStep, waiting, undos } = captureSteps(life);
  return saga(async (undo) => {
    undo('reserveCapture', () => undos.releaseCapture());
    await step.reserveCapture();
    undo('beginCapture', () => undos.removeCapture());
    undo('beginCapture', () => undos.abortCapture());
    undo('beginCapture', () => undos.thawSource());
    await step.beginCapture();
    await waiting.awaitCapture();
    const saved = await longStep.verifyCapture();
    await step.keepCapture();
    await undos.releaseCapture(); // what it takes is on the disk by now, where everybody sees it
    return saved;
  });
}
