import { type AttemptEnd, mayHaveStarted, toAttemptEnd, unknownEnd } from '../../../model/functions/command-end.ts';
import { decideNextStep, failedForCapacity } from '../../../model/functions/next-step.ts';
import { type Attempt, isExpired, type RunArtifact, type RunRecord } from '../../../model/functions/run.ts';
import { ACTIVE_STATES, type RunOutcome } from '../../../model/functions/run-state.ts';
import type { AuditEvent } from '../../../model/sandbox/audit.ts';
import { steadyClock } from '../../../model/steady-clock.ts';
import type { Store } from '../../../store/connect.ts';
import type { WebhookPublisher } from '../../webhook/announcer.ts';
import { acceptedSpec } from '../accepted-version.ts';
import { type AttemptRef, findAttempt, withLast } from '../known-attempt.ts';

interface AttemptEnded extends AttemptRef {
  end: AttemptEnd;
  /** Fetched output; of artifacts, their number, since their list is in the store. */
  fetched: Partial<Pick<RunRecord, 'result'> & { artifactCount: number }>;
  event: AuditEvent;
}

export function createEndAttemptActivities({ store, announcer }: { store: Store; announcer: WebhookPublisher }) {
  async function artifactsOf(runId: string): Promise<RunArtifact[]> {
    const list = await store.runContents.get(runId, 'artifacts');
    return list ? (JSON.parse(Buffer.from(list).toString()) as RunArtifact[]) : [];
  }

  return {
    /** Records the end of an attempt, and of the run unless a retry follows. @param fetched collected output */
    async endAttempt({ end: told, fetched, event, ...said }: AttemptEnded): Promise<void> {
      const { runId } = said;
      const found = await findAttempt(store, said);
      if (!found || found.attempt.outcome) return;
      const { run, attempt } = found;
      const { artifactCount = 0, ...rest } = fetched;
      const [end, spec, artifacts] = await Promise.all([
        resolveEnd(store, told, attempt),
        acceptedSpec(store, run),
        artifactCount > 0 ? artifactsOf(runId) : run.artifacts,
      ]);
      const at = steadyClock.iso();
      const isFailedStart = end.outcome === 'not-started' && !failedForCapacity(end);
      const attempts = withLast(run, { ...end, endedAt: at });
      const failedStarts = run.failedStarts + (isFailedStart ? 1 : 0);
      const changes = { attempts, failedStarts, updatedAt: at, ...rest, artifacts };
      const next = spec ? decideNextStep({ ...run, ...changes }, spec, steadyClock.now()) : ({ step: 'end' } as const);
      if (next.step !== 'end') {
        await store.runs.change(runId, ACTIVE_STATES, changes);
        return;
      }
      await endRun(store, { ...run, ...changes }, end, event);
      await announcer.ofRun(runId);
    },
  };
}

/** @param run as it will be, without its end */
export async function endRun(
  { audit, runs }: Pick<Store, 'audit' | 'runs'>,
  run: RunRecord,
  end: AttemptEnd,
  event: AuditEvent,
): Promise<void> {
  const { id, attempts, failedStarts, result, artifacts, cleanup, updatedAt } = run;
  const { exitCode, signal, failure } = end;
  const outcome = outcomeOf(run, end);
  const changes = { attempts, failedStarts, result, artifacts, cleanup, updatedAt };
  const ended = { ...changes, exitCode, signal, failure, outcome, endedAt: updatedAt };
  await audit.record(id, { ...event, detail: { ...event.detail, outcome, exitCode, signal } });
  await runs.end(id, ACTIVE_STATES, ended, run.retentionDays);
}

/**
 * Returns the actual end of an attempt reported as not started: its command is recorded before its start, so another
 * process may have started it, and then its record decides.
 */
export async function resolveEnd(
  { commands }: Pick<Store, 'commands'>,
  end: AttemptEnd,
  { commandId }: Pick<Attempt, 'commandId'>,
): Promise<AttemptEnd> {
  const command = end.outcome === 'not-started' ? await commands.get(commandId) : null;
  if (!command || !mayHaveStarted(command)) return end;
  return command.state === 'ended' ? toAttemptEnd(command) : unknownEnd('somebody else had begun its process');
}

/** Returns the outcome of a run after its last attempt. */
export function outcomeOf(run: RunRecord, { outcome }: AttemptEnd): RunOutcome {
  if (outcome !== 'not-started') return outcome ?? 'unknown';
  if (run.cancelledBy !== null) return 'cancelled';
  return isExpired(run) ? 'expired' : 'not-started';
}
