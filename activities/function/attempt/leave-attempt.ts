import type { AttemptEnd } from '../../../model/functions/command-end.ts';
import { nextStep } from '../../../model/functions/next-step.ts';
import type { RunRecord } from '../../../model/functions/run.ts';
import type { NextOfRun } from '../../../model/functions/run-saga.ts';
import { UNDER_WAY } from '../../../model/functions/run-state.ts';
import type { AuditEvent } from '../../../model/sandbox/audit.ts';
import { isFinal } from '../../../model/sandbox/sandbox-state.ts';
import { steadyClock } from '../../../model/steady-clock.ts';
import type { SagaDeps } from '../../step/saga-deps.ts';
import type { Announcer } from '../../webhook/announcer.ts';
import { acceptedSpec } from '../accepted-version.ts';
import { knownAttempt, type SaidAttempt, withLast } from '../known-attempt.ts';
import { releaseMember } from '../prepared/claimed-member.ts';
import { asSeen, endRun, outcomeOf } from './end-attempt.ts';

interface Deps extends SagaDeps {
  announcer: Announcer;
}

interface AttemptLeft extends SaidAttempt {
  event: AuditEvent;
}

/** Run whose sandbox has ended, with the proof of that. */
interface Left {
  run: RunRecord;
  end: AttemptEnd;
  event: AuditEvent;
}

export function createLeaveAttemptActivities({ store, reconciliation, announcer }: Deps) {
  async function free({ run: { id, cleanup, attempts, updatedAt }, event }: Left): Promise<void> {
    await store.audit.record(id, { ...event, detail: { ...event.detail, cleanup } });
    await store.runs.free(id, { attempts, cleanup, updatedAt });
    await announcer.ofRun(id);
  }

  async function goOn(left: Left, found: RunRecord): Promise<NextOfRun> {
    const { run, end, event } = left;
    const { attempts, updatedAt } = run;
    if (run.state === 'ended') {
      await free(left);
      return { step: 'end', outcome: run.outcome };
    }
    const spec = await acceptedSpec(store, run);
    const next = spec ? nextStep(run, spec, steadyClock.now()) : ({ step: 'end' } as const);
    if (next.step === 'retry') {
      const changes = { attempts, updatedAt, cleanup: 'pending', waitingFor: 'retry' } as const;
      await store.runs.change(run.id, UNDER_WAY, changes);
      return next;
    }
    if (next.step === 'end') {
      await endRun(store, run, end, { ...event, eventId: `${run.id}/run.ended`, kind: 'run.ended' });
      await free(left);
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
    async leaveAttempt({ event, ...said }: AttemptLeft): Promise<NextOfRun> {
      const { runId, sandboxId } = said;
      const [sandbox] = await Promise.all([
        store.sandboxes.get(sandboxId),
        releaseMember({ store, reconciliation }, runId),
      ]);
      if (sandbox ? !isFinal(sandbox.state) : await reconciliation.sandboxes.isOpen(sandboxId)) {
        await reconciliation.sandboxes.end(sandboxId);
        throw new Error(`${sandboxId} has not ended`);
      }
      const known = await knownAttempt(store, said);
      if (!known) return { step: (await store.runs.get(runId)) ? 'end' : 'lost' };
      const { run, attempt } = known;
      const cleanup = sandbox?.proof?.unproved === undefined ? 'proved' : 'unproved';
      const updatedAt = steadyClock.iso();
      const [end] = await Promise.all([
        asSeen(store, attempt, attempt), // the sandbox is destroyed: it can't start any longer
        store.attemptSecrets.remove(attempt.commandId),
      ]);
      const attempts = withLast(run, { ...end, cleanup });
      return goOn({ run: { ...run, attempts, cleanup, updatedAt }, end, event }, run);
    },
  };
}
