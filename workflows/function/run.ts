import { CancellationScope, getExternalWorkflowHandle, log } from '@temporalio/workflow';
import {
  type BegunAttempt,
  dispatcherWorkflowIdOf,
  LOOK,
  type NextOfRun,
  type RunInput,
} from '../../model/functions/run-saga.ts';
import { RUN_OVER } from '../../model/schedules/schedule-saga.ts';
import { controlUntilDone } from '../saga/control.ts';
import type { TaskSandbox } from '../source/task-sandbox.ts';
import { attempt, attemptSandbox, type Ended, neverBegan } from './attempt.ts';
import { RunLife } from './run-life.ts';

/**
 * One run, from its admission until nothing of it is left:
 *
 *   attempt (attempt.ts) → how it ended is in the store → its sandbox is destroyed, and that is proved → its slots are free
 *                                                                                      └→ another attempt, its slots kept
 *
 * What comes after an attempt is reached from everywhere, whoever cancels. A run that finds no room goes back to its queue.
 * One whose workflow was lost is begun again, and goes on where its record says that it was.
 */
export async function run(input: RunInput): Promise<void> {
  const { runId } = input;
  const life = new RunLife(input);
  for (;;) {
    const begun = await controlUntilDone.beginAttempt({ runId });
    if (!begun) return tellSchedule(input);
    life.cancelledBy ??= begun.cancelledBy ?? null;
    const next = await CancellationScope.nonCancellable(() => attempted(life, begun));
    if (next.step !== 'retry') break;
    await life.pause(next.pauseMs);
  }
  await tellDispatcher(input);
  await tellSchedule(input);
}

async function attempted(life: RunLife, begun: BegunAttempt): Promise<NextOfRun> {
  const { runId, hasEnded } = begun;
  const made = await attemptSandbox(life, begun);
  if (!hasEnded) {
    const ended: Ended = made.machine ? await attempt(life, begun, made.machine) : neverBegan(made.refusal);
    await controlUntilDone.endAttempt({ runId, ...ended, event: life.event('run.ended') });
  }
  if (made.machine) await destroyed(life, made.machine);
  return life.retryUntilDone('leaveAttempt', () =>
    controlUntilDone.leaveAttempt({ runId, event: life.event('run.cleaned') }),
  );
}

function destroyed(life: RunLife, machine: TaskSandbox): Promise<void> {
  return life.retryUntilDone('destroySandbox', () => machine.destroy());
}

/** There is room for another. One that does not run has nothing queued, or is begun by whoever finds something. */
async function tellDispatcher({ project, function: name }: RunInput): Promise<void> {
  try {
    await getExternalWorkflowHandle(dispatcherWorkflowIdOf({ project, name })).signal<[]>(LOOK);
  } catch (error) {
    log.debug('no dispatcher to tell', { name, why: String(error) });
  }
}

/** The next of its schedule may begin. One that is not told looks by itself. */
async function tellSchedule({ runId, scheduledBy }: RunInput): Promise<void> {
  if (scheduledBy === undefined) return;
  try {
    await getExternalWorkflowHandle(scheduledBy).signal<[]>(RUN_OVER);
  } catch (error) {
    log.debug('no schedule to tell', { runId, why: String(error) });
  }
}
