import { proxyActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import type { BegunAttempt } from '../../model/functions/run-saga.ts';
import type { RunFailure } from '../../model/functions/run-state.ts';
import { controlUntilDone } from '../saga/control.ts';
import { failureOf } from '../saga/failure.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';
import { saidOf } from './attempt-said.ts';

/** A snapshot of disks is a matter of seconds. What takes longer is given up: the sandbox is destroyed all the same. */
const { keepAttempt } = proxyActivities<ControlActivities>(PROFILE.work(5 * MINUTE_MS, { totalMs: 10 * MINUTE_MS }));

/**
 * Destroys the sandbox of an attempt. Where its function keeps what failed, a snapshot of its disks is taken before; that changes
 * nothing of how the run ended, and holds up nothing for long. What became of it is read when the sandbox is gone, and with it
 * whoever could still finish a snapshot.
 */
export async function keeping(begun: BegunAttempt, destroy: () => Promise<void>): Promise<void> {
  if (!begun.keeps) return destroy();
  const failure = await whyNotKept(begun);
  await destroy();
  await controlUntilDone.settleKept({ ...saidOf(begun), failure });
}

async function whyNotKept(begun: BegunAttempt): Promise<RunFailure | null> {
  try {
    return await keepAttempt(saidOf(begun));
  } catch (error) {
    const { code, message } = failureOf(error, 'keepAttempt');
    return { code, message };
  }
}
