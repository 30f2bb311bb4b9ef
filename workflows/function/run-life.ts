import { CancellationScope, condition, defineSignal, setCurrentDetails, setHandler, sleep } from '@temporalio/workflow';
import { CANCEL_RUN, LOOK_AT_WAITS, type RunInput } from '../../model/functions/run-saga.ts';
import { TEMPORAL_OPERATOR } from '../../model/sagas/cancellation.ts';
import type { AuditEvent, AuditKind } from '../../model/sandbox/audit.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { auditEvent } from '../saga/audit-event.ts';
import { whenCancelled } from '../saga/cancellation.ts';
import { controlUntilDone } from '../saga/control.ts';
import { TaskLife } from '../source/task-life.ts';

const cancel = defineSignal<[Actor]>(CANCEL_RUN);
const lookAtWaits = defineSignal(LOOK_AT_WAITS);

/** One run, as its workflow knows it. */
export class RunLife extends TaskLife {
  cancelledBy: Actor | null = null;
  /** How often it was told to look at what it waits for. */
  looks = 0;
  /** Stores the cancel that an operator wants, and signals this run; awaited before its end. */
  cancelling: Promise<void> = Promise.resolve();
  #undoing: CancellationScope | null = null;

  constructor(readonly input: RunInput) {
    super(input.timeouts);
    setHandler(cancel, (actor) => {
      this.cancelledBy ??= actor;
      this.#undoing?.cancel();
    });
    whenCancelled(() => {
      this.cancelling = controlUntilDone.cancelRun({ runId: input.runId, actor: TEMPORAL_OPERATOR });
    });
    setHandler(lookAtWaits, () => {
      this.looks += 1;
    });
  }

  async recordChange({ waitingFor }: { waitingFor: string | null }): Promise<void> {
    setCurrentDetails(waitingFor ?? '');
    await controlUntilDone.showRun({ runId: this.input.runId, isWaiting: waitingFor !== null });
  }

  /** Runs what a cancel undoes. @throws CancelledFailure */
  async undoable<T>(work: () => Promise<T>): Promise<T> {
    this.#undoing = new CancellationScope();
    try {
      if (this.cancelledBy !== null) this.#undoing.cancel();
      return await this.#undoing.run(work);
    } finally {
      this.#undoing = null;
    }
  }

  /** A pause that a cancel ends. */
  async pause(ms: number): Promise<void> {
    await condition(() => this.cancelledBy !== null, ms);
  }

  /** Tells who can end a process that somebody wants it ended, again until it is heard. */
  async passOnCancel(tell: (actor: Actor) => Promise<void>, isOver: () => boolean): Promise<void> {
    await condition(() => isOver() || this.cancelledBy !== null);
    while (!isOver() && this.cancelledBy !== null) {
      try {
        return await tell(this.cancelledBy);
      } catch {
        await sleep('1s'); // it is being begun, or has just ended
      }
    }
  }

  /** Of which a run has one, whoever goes on with it. */
  event(kind: AuditKind): AuditEvent {
    const { actor, runId, function: name } = this.input;
    const event = auditEvent(kind, { actor, hostId: null, kind, detail: { function: name } });
    return { ...event, eventId: `${runId}/${kind}` };
  }
}
