import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../../../activities/control.ts';
import type { SetupAttemptRef } from '../../../activities/setup/setup.ts';
import type { RunFailure } from '../../../model/functions/run-state.ts';
import type { SetupInput } from '../../../model/functions/setup/setup-saga.ts';
import { runUntil } from '../../saga/cancellation.ts';
import { shouldContinueAsNew } from '../../saga/continue-as-new.ts';
import { control, controlUntilDone } from '../../saga/control.ts';
import { failureOf, refusal } from '../../saga/failure.ts';
import { MINUTE_MS, PROFILE } from '../../saga/profiles.ts';
import { saga } from '../../saga/saga.ts';
import { runTaskCommand } from '../../source/task-command.ts';
import { taskSteps } from '../../source/task-life.ts';
import { TaskSandbox } from '../../source/task-sandbox.ts';
import { SetupState } from './setup-life.ts';

/** Profile of copying a function's files into an emulated guest. */
const STEP = PROFILE.work(30 * MINUTE_MS, { hostDownMs: 2 * MINUTE_MS });

const CANCELLED: RunFailure = { code: 'workflow_cancelled', message: 'Its workflow was cancelled in Temporal.' };

/** A snapshot may have to write the guest's memory. */
const { takeSetupSnapshot } = proxyActivities<ControlActivities>(PROFILE.work(30 * MINUTE_MS));

/**
 * Prepares the snapshot that all runs of a function share, and removes it with the last version that needs it:
 *
 *   preparing: residue of a lost attempt removed → new attempt → ready, or failed
 *   removing:  snapshot removed → record removed
 *
 * Its record holds the state. A restarted workflow uses a new sandbox.
 */
export async function setup(input: SetupInput): Promise<void> {
  const life = new SetupState(input);
  const { project, setupKey } = input;
  const ref = { project, setupKey };
  for (;;) {
    life.isTold = false;
    life.isWanted = false;
    const { task, last } = await controlUntilDone.lookAtSetup(ref);
    const isNotified = () => life.isTold || life.isWanted;
    if (task === 'none' && !isNotified()) return;
    if (last) await removeAttempt(life, { ...ref, tried: last });
    if (task === 'remove' && (await controlUntilDone.forgetSetup(ref)) && !isNotified()) return;
    if (task === 'prepare') await prepare(life);
    if (shouldContinueAsNew()) return continueAsNew<typeof setup>(input);
  }
}

/** Removes an attempt that was lost or is not needed; its sandbox first, which ends its running steps. */
async function removeAttempt(life: SetupState, of: SetupAttemptRef): Promise<void> {
  life.begin(of);
  await life.retryUntilDone('destroySandbox', () => control.endSetupSandbox(of));
  await life.retryUntilDone('removeSnapshot', () => control.removeSetupSnapshots(of));
}

async function prepare(life: SetupState): Promise<void> {
  const { project, setupKey } = life.input;
  const tried = await controlUntilDone.beginSetupTry({ project, setupKey });
  if (!tried) return;
  const of = { project, setupKey, tried };
  life.begin(of);
  let failure: RunFailure | null;
  try {
    const isUnneeded = () => life.isUnneeded;
    const done = await runUntil(isUnneeded, () => attempt(life, of));
    if (done) return await controlUntilDone.setupReady({ ...of, saved: done.value });
    failure = life.isCancelled ? CANCELLED : null;
  } catch (error) {
    failure = life.isCancelled ? CANCELLED : failureIn(life, error);
  }
  const next = await controlUntilDone.setupFailed({ ...of, failure });
  if (next.step === 'again') await life.pause(next.pauseMs);
}

/**
 * Makes one attempt, in a sandbox of its own:
 *
 *   sandbox runs → the function's files are placed → its script succeeds → snapshot saved → sandbox destroyed
 *
 * When a step fails, or no version needs it any longer, everything is removed.
 */
function attempt(life: SetupState, of: SetupAttemptRef): Promise<{ snapshotId: string }> {
  return saga(async (undo) => {
    const input = await life.step('setupSandbox', () => control.setupSandbox(of));
    const { timeouts } = life.input;
    const machine = new TaskSandbox({ ...input, ...(timeouts && { timeouts }) }, 'setup_failed');
    const destroy = () => life.retryUntilDone('destroySandbox', () => machine.destroy());
    undo('takeSnapshot', () => life.retryUntilDone('removeSnapshot', () => control.removeSetupSnapshots(of)));
    undo('startSandbox', destroy); // also stops a running save
    await life.step('startSandbox', () => machine.start());
    await placeFiles(life, of);
    await runScript(life, of);
    const saved = await life.step('takeSnapshot', () => takeSetupSnapshot(of));
    await destroy();
    return saved;
  });
}

async function placeFiles(life: SetupState, of: SetupAttemptRef): Promise<void> {
  const { project, setupKey, tried } = of;
  const host = await control.setupHost(of);
  const { snapshotId: sandboxId, sandboxId: attemptId } = tried;
  const target = { project, setupKey, sandboxId, attemptId };
  await taskSteps(life, host, target, { ...STEP, summary: attemptId }).placeSetupFiles();
}

async function runScript(life: SetupState, of: SetupAttemptRef): Promise<void> {
  await life.step('runScript', async () => {
    const command = await control.beginSetupScript(of);
    await runTaskCommand(command, `the script of a setup in ${of.tried.sandboxId}`);
    const failure = await control.setupScriptFailure(of);
    if (failure) throw refusal(failure.code, failure.message);
  });
}

function failureIn(life: SetupState, error: unknown): RunFailure {
  const { code, step, message } = failureOf(error, life.failedStep);
  return { code, message: code === 'setup_failed' ? message : `${step}: ${message}` };
}
