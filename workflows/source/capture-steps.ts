import { type ActivityOptions, proxyActivities } from '@temporalio/workflow';
import type { HostActivities } from '../../activities/host.ts';
import { hostQueue } from '../../model/sagas/queues.ts';
import { optionsUntilDone } from '../life/retry-until-done.ts';
import type { CaptureLife } from './capture-life.ts';

type Step = 'reserveCapture' | 'beginCapture' | 'awaitCapture' | 'keepCapture' | 'removeCapture';
type Undo = 'thawSource' | 'abortCapture' | 'removeCapture' | 'releaseCapture';

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
  const host = proxyActivities<HostActivities>({ ...STEP, taskQueue: hostQueue(hostId) });
  const target = { sandboxId: captureId, generation: life.generation, source };
  const gone = { ...target, generation: life.generation + 1 };
  const summary = `${source} on ${hostId} → ${captureId}`;
  const step = (name: Step, options = STEP) =>
    life.step(name, () => host[name].executeWithOptions({ ...options, summary }, [target]));
  const undo = (name: Undo) => () =>
    life.retryUntilDone(name, () => host[name].executeWithOptions({ ...UNDO, summary }, [gone]));

  return {
    reserveCapture: () => step('reserveCapture'),
    beginCapture: () => step('beginCapture'),
    awaitCapture: () => step('awaitCapture', WAIT),
    verifyCapture: () =>
      life.step('verifyCapture', () => host.verifyCapture.executeWithOptions({ ...LONG, summary }, [target])),
    keepCapture: () => step('keepCapture'),
    /** As a wish, not as an undo: it may be refused. */
    deleteCapture: () => step('removeCapture', UNDO),

    thawSource: undo('thawSource'),
    abortCapture: undo('abortCapture'),
    removeCapture: undo('removeCapture'),
    releaseCapture: undo('releaseCapture'),
  };
}
