import type { ActivityOptions } from '@temporalio/workflow';
import { brieflyFirst, optionsUntilDone } from '../life/retry-until-done.ts';
import { taskSteps } from '../source/task-life.ts';
import type { CaptureLife } from './capture-life.ts';

const RETRY = { initialInterval: '200ms', maximumInterval: '2s', maximumAttempts: 5 } as const;
const STEP: ActivityOptions = {
  scheduleToStartTimeout: '30s',
  startToCloseTimeout: '2m',
  scheduleToCloseTimeout: '8m',
  heartbeatTimeout: '4s',
  retry: RETRY,
};
/** At 100 MB/s a disk of a terabyte takes three hours. */
const LONG: ActivityOptions = { ...STEP, startToCloseTimeout: '12h', scheduleToCloseTimeout: '24h' };
/** The job is libvirt's, and goes on without a worker: one that comes back late still finds how it ended. */
const WAIT: ActivityOptions = {
  startToCloseTimeout: '24h',
  scheduleToCloseTimeout: '24h',
  heartbeatTimeout: '4s',
  retry: { ...RETRY, maximumAttempts: 100 },
};
/** A host that is down gets its work when it is back. */
const UNDO = optionsUntilDone('2m');

/** The steps of one capture, each with the line that operators read in the Temporal UI. */
export function captureSteps(life: CaptureLife) {
  const { captureId, hostId, source } = life.input;
  const target = { sandboxId: captureId, generation: life.generation, source };
  const gone = { ...target, generation: life.generation + 1 };
  const summary = `${source} on ${hostId} → ${captureId}`;
  const stepsWith = (options: ActivityOptions) => taskSteps(life, life.input, { step: options, undo: UNDO, summary });
  const { step, undo } = stepsWith(STEP);

  return {
    reserveCapture: () => step.reserveCapture(target),
    beginCapture: () => step.beginCapture(target),
    awaitCapture: () => stepsWith(WAIT).step.awaitCapture(target),
    verifyCapture: () => stepsWith(LONG).step.verifyCapture(target),
    keepCapture: () => step.keepCapture(target),
    /** As a wish, not as an undo: it may be refused. */
    deleteCapture: () => stepsWith(brieflyFirst(UNDO)).step.removeCapture(target),

    thawSource: () => undo.thawSource(gone),
    abortCapture: () => undo.abortCapture(gone),
    removeCapture: () => undo.removeCapture(gone),
    releaseCapture: () => undo.releaseCapture(gone),
  };
}
