import { condition, defineSignal, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { AttemptRef } from '../../activities/function/known-attempt.ts';
import { CANCEL_RUN, type RunInput, type StartedAttempt, WAKE_WAITS } from '../../model/functions/run-saga.ts';
import { TEMPORAL_OPERATOR } from '../../model/sagas/cancellation.ts';
import type { AuditEvent, AuditKind } from '../../model/sandbox/audit.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { auditEvent } from '../saga/audit-event.ts';
import { whenCancelled } from '../saga/cancellation.ts';
import { controlUntilDone } from '../saga/control.ts';
import { TaskLife } from '../source/task-life.ts';

const cancel = defineSignal<[Actor]>(CANCEL_RUN);
const wakeRun = defineSignal(WAKE_WAITS);

/** State of one run in its workflow. */
export class RunState extends TaskLife {
  cancelledBy: Actor | null = null;
  /** Number of signals to poll its waitpoints. */
  looks = 0;
  /** Stores an operator's cancel in the Temporal UI, and signals this run; awaited before its end. */
  cancelling: Promise<void> = Promise.resolve();

  constructor(readonly input: RunInput) {
    super(input.timeouts);
    setHandler(cancel, (actor) => {
      this.cancelledBy ??= actor;
    });
    whenCancelled(() => {
      this.cancelling = controlUntilDone.cancelRun({ runId: input.runId, actor: TEMPORAL_OPERATOR });
    });
    setHandler(wakeRun, () => {
      this.looks += 1;
    });
  }

  async recordChange({ waitingFor }: { waitingFor: string | null }): Promise<void> {
    setCurrentDetails(waitingFor ?? '');
    await controlUntilDone.showRun({ runId: this.input.runId, isWaiting: waitingFor !== null });
  }

  /** Pauses until the time is up or the run is cancelled. */
  async pause(ms: number): Promise<void> {
    await condition(() => this.cancelledBy !== null, ms);
  }

  /** Builds an event with an id unique per run and kind, also across its workflows. */
  event(kind: AuditKind): AuditEvent {
    const { actor, runId, function: name } = this.input;
    const event = auditEvent(kind, { actor, hostId: null, kind, detail: { function: name } });
    return { ...event, eventId: `${runId}/${kind}` };
  }
}

/** Returns the identity of an attempt, from which a store that was reset to an earlier time recovers it. */
export function attemptRef({ runId, n, sandboxId, commandId, begunAt, tries }: StartedAttempt): AttemptRef {
  return { runId, n, sandboxId, commandId, begunAt, tries };
}
