import type { AttemptEnd } from '../../../model/functions/command-end.ts';
import { decideNextStep } from '../../../model/functions/next-step.ts';
import type { RunRecord } from '../../../model/functions/run.ts';
import type { RunNextStep } from '../../../model/functions/run-saga.ts';
import { ACTIVE_STATES } from '../../../model/functions/run-state.ts';
import type { AuditEvent } from '../../../model/sandbox/audit.ts';
import { isFinal } from '../../../model/sandbox/sandbox-state.ts';
import { steadyClock } from '../../../model/steady-clock.ts';
import type { SagaDeps } from '../../step/saga-deps.ts';
import type { WebhookPublisher } from '../../webhook/announcer.ts';
import { acceptedSpec } from '../accepted-version.ts';
import { type AttemptRef, findAttempt, withLast } from '../known-attempt.ts';
import { releaseMember } from '../prepared/claimed-member.ts';
import { endRun, outcomeOf, resolveEnd } from './end-attempt.ts';

interface Deps extends SagaDeps {
  announcer: WebhookPublisher;
}

interface AttemptLeft extends AttemptRef {
  event: AuditEvent;
}

/** Run whose sandbox has ended, with the proof of that. */
interface FinishedAttempt {
  run: RunRecord;
  end: AttemptEnd;
  event: AuditEvent;
}

export function createLeaveAttemptActivities({ store, reconciliation, announcer }: Deps) {
  async function free({ run: { id, cleanup, attempts, updatedAt }, event }: FinishedAttempt): Promise<void> {
    await store.audit.record(id, { ...event, detail: { ...event.detail, cleanup } });
    await store.runs.free(id, { attempts, cleanup, updatedAt });
    await announcer.ofRun(id);
  }

  async function decideNext(finished: FinishedAttempt, found: RunRecord): Promise<RunNextStep> {
    const { run, end, event } = finished;
    const { attempts, updatedAt } = run;
    if (run.state === 'ended') {
      await free(finished);
      return { step: 'end', outcome: run.outcome };
    }
    const spec = await acceptedSpec(store, run);
    const next = spec ? decideNextStep(run, spec, steadyClock.now()) : ({ step: 'end' } as const);
    if (next.step === 'retry') {
      const changes = { attempts, updatedAt, cleanup: 'pending', waitingFor: 'retry' } as const;
      await store.runs.change(run.id, ACTIVE_STATES, changes);
      return next;
    }
    if (next.step === 'end') {
      await endRun(store, run, end, { ...event, eventId: `${run.id}/run.ended`, kind: 'run.ended' });
      await free(finished);
      return { step: 'end', outcome: outcomeOf(run, end) };
    }
    const ref = { project: run.project, name: run.function };
    const fullUntil = new Date(steadyClock.now() + next.pauseMs).toISOString();
    await store.functions.change(ref, { fullUntil });
    await store.runs.requeue(found, { attempts, updatedAt, cleanup: 'none', waitingFor: 'capacity' });
    await reconciliation.functions.ensureDispatcher(ref);
    return { step: 'requeue' };
  }

  return {
    /** Decides how the run continues after the end of its sandbox. */
    async leaveAttempt({ event, ...said }: AttemptLeft): Promise<RunNextStep> {
      const { runId, sandboxId } = said;
      const [sandbox] = await Promise.all([
        store.sandboxes.get(sandboxId),
        releaseMember({ store, reconciliation }, runId),
      ]);
      if (sandbox ? !isFinal(sandbox.state) : await reconciliation.sandboxes.isOpen(sandboxId)) {
        await reconciliation.sandboxes.end(sandboxId);
        throw new Error(`${sandboxId} has not ended`);
      }
      const known = await findAttempt(store, said);
      if (!known) return { step: (await store.runs.get(runId)) ? 'end' : 'lost' };
      const { run, attempt } = known;
      const cleanup = sandbox?.proof?.unproved === undefined ? 'proved' : 'unproved';
      const updatedAt = steadyClock.iso();
      const [end] = await Promise.all([
        resolveEnd(store, attempt, attempt), // the sandbox is destroyed: it can't start any longer
        store.attemptSecrets.remove(attempt.commandId),
      ]);
      const attempts = withLast(run, { ...end, cleanup });
      return decideNext({ run: { ...run, attempts, cleanup, updatedAt }, end, event }, run);
    },
  };
}
