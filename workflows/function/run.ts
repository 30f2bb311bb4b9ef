import {
  ApplicationFailure,
  CancellationScope,
  getExternalWorkflowHandle,
  log,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { ErrorCode } from '../../model/errors.ts';
import {
  type BegunAttempt,
  dispatcherWorkflowIdOf,
  LOOK,
  type NextOfRun,
  type RunInput,
} from '../../model/functions/run-saga.ts';
import { WAKE_SCHEDULE } from '../../model/schedules/schedule-saga.ts';
import { controlUntilDone } from '../saga/control.ts';
import { outcomeAttribute } from '../saga/messages.ts';
import type { TaskSandbox } from '../source/task-sandbox.ts';
import { attempt, attemptSandbox, type Ended, neverBegan } from './attempt.ts';
import { saidOf } from './attempt-said.ts';
import { Diffing } from './diff.ts';
import { keeping } from './keep.ts';
import { RunLife } from './run-life.ts';
import { untilItHasSlots } from './slots.ts';

/**
 * One run, from its admission until nothing of it is left:
 *
 *   attempt (attempt.ts) → how it ended is in the store → its sandbox is destroyed, and that is proved → its slots are free
 *                                                   └→ kept (keep.ts), where its function says so  └→ another attempt, its slots kept
 *
 * What comes after an attempt is reached from everywhere, whoever cancels. A run that finds no room goes back to its queue.
 * One whose workflow was lost is begun again, and goes on where its record says that it was. One whose record was lost, with a
 * store that was set back, ends here too, nothing of it left: `mayfly doctor` lists it.
 */
export async function run(input: RunInput): Promise<void> {
  const { runId } = input;
  const life = new RunLife(input);
  for (;;) {
    const begun = await controlUntilDone.beginAttempt({ runId });
    if (!begun) {
      await life.cancelling;
      return tellSchedule(input);
    }
    if ('lacksSlot' in begun) {
      await untilItHasSlots(life);
      continue;
    }
    life.cancelledBy ??= begun.cancelledBy ?? null;
    const next = await CancellationScope.nonCancellable(() => attempted(life, begun));
    if (next.step === 'lost') throw lostRecord(runId);
    if (next.step === 'end' && next.outcome) upsertSearchAttributes([{ key: outcomeAttribute, value: next.outcome }]);
    if (next.step !== 'retry') break;
    await life.pause(next.pauseMs);
  }
  await life.cancelling;
  await tellDispatcher(input);
  await tellSchedule(input);
}

async function attempted(life: RunLife, found: BegunAttempt): Promise<NextOfRun> {
  const made = await attemptSandbox(life, found);
  const { begun } = made;
  const diffing = new Diffing(life, begun);
  if (!begun.hasEnded) {
    const ended: Ended = 'sandbox' in made ? await attempt(life, made, diffing) : neverBegan(made.refusal);
    await controlUntilDone.endAttempt({ ...saidOf(begun), ...ended, event: life.event('run.ended') });
  }
  if ('sandbox' in made) {
    await diffing.after();
    await keeping(begun, () => destroyed(life, made.sandbox));
    await diffing.release();
  }
  return life.retryUntilDone('leaveAttempt', () =>
    controlUntilDone.leaveAttempt({ ...saidOf(begun), event: life.event('run.cleaned') }),
  );
}

function destroyed(life: RunLife, sandbox: TaskSandbox): Promise<void> {
  return life.retryUntilDone('destroySandbox', () => sandbox.destroy());
}

/** Its event is lost, and all that it said. */
function lostRecord(runId: string): ApplicationFailure {
  const why = `The store has no record of ${runId} any more; nothing of its sandbox is left`;
  return ApplicationFailure.nonRetryable(why, 'run_not_found' satisfies ErrorCode);
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
    await getExternalWorkflowHandle(scheduledBy).signal<[]>(WAKE_SCHEDULE);
  } catch (error) {
    log.debug('no schedule to tell', { runId, why: String(error) });
  }
}
