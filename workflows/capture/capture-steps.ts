import type { ActivityOptions } from '@temporalio/workflow';
import type { Targeted } from '../saga/host-activities.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';
import { taskSteps, taskUndos } from '../source/task-life.ts';
import type { CaptureLife } from './capture-life.ts';

const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const STEP = PROFILE.step(2 * MINUTE_MS, { totalMs: 8 * MINUTE_MS });
/** At 100 MB/s a disk of a terabyte takes three hours. */
const LONG = PROFILE.step(12 * HOUR_MS, { totalMs: DAY_MS });
/** The job is libvirt's, and goes on without a worker: one that comes back late still finds how it ended. */
const WAIT = PROFILE.step(DAY_MS, { hostDownMs: DAY_MS, totalMs: DAY_MS, attempts: 100 });

type CaptureSteps = Targeted<{ sandboxId: string; generation: number; source: string }>;

/** The steps of one capture, and their compensations. */
export function captureSteps(
  life: CaptureLife,
): Record<'step' | 'longStep' | 'waiting' | 'wish' | 'undos', CaptureSteps> {
  const { captureId: sandboxId, hostId, source } = life.input;
  const target = { sandboxId, source };
  const summary = `${source} on ${hostId} → ${sandboxId}`;
  const stepsWith = (profile: ActivityOptions) => taskSteps(life, life.input, target, { ...profile, summary });
  return {
    step: stepsWith(STEP),
    longStep: stepsWith(LONG),
    waiting: stepsWith(WAIT),
    /** Not as a compensation: it may be refused. */
    wish: stepsWith(PROFILE.firstTry(2 * MINUTE_MS)),
    undos: taskUndos(life, life.input, target, summary),
  };
}
