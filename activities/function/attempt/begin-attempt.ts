import { type Attempt, deriveAttemptIds, getLastAttempt, type RunRecord } from '../../../model/functions/run.ts';
import type { LacksSlot, RunInput, StartedAttempt } from '../../../model/functions/run-saga.ts';
import { ACTIVE_STATES } from '../../../model/functions/run-state.ts';
import { steadyClock } from '../../../model/steady-clock.ts';
import { hasReleasedSlot } from '../../../model/waitpoints/waiting.ts';
import type { Store } from '../../../store/connect.ts';
import type { WebhookPublisher } from '../../webhook/announcer.ts';
import { acceptedSpec } from '../accepted-version.ts';
import { PENDING, requireRun } from '../known-attempt.ts';

export function createBeginAttemptActivities({ store, announcer }: { store: Store; announcer: WebhookPublisher }) {
  /** Ends a run that was cancelled between two attempts. */
  async function endCancelled(run: RunRecord): Promise<void> {
    const at = steadyClock.iso();
    const ended = { outcome: 'cancelled', endedAt: at, updatedAt: at } as const;
    await store.runs.end(run.id, ACTIVE_STATES, ended, run.retentionDays);
    await store.runs.free(run.id, { cleanup: getLastAttempt(run)?.cleanup ?? 'none' });
    await announcer.ofRun(run.id);
  }

  /** Audits the admission, before any resource is made for it. Idempotent. */
  async function auditAdmission({ id, createdBy, admittedAt, ...run }: RunRecord): Promise<void> {
    if (admittedAt === null) return; // lost in a store that was restored to an earlier time
    await store.audit.record(id, {
      eventId: `${id}/admitted/${admittedAt}`,
      kind: 'run.admitted',
      actor: createdBy,
      runId: null,
      hostId: null,
      at: admittedAt,
      detail: { function: run.function, version: run.version, eventDigest: run.eventDigest },
    });
  }

  return {
    /**
     * Returns the next attempt, or the unfinished one of a lost workflow. Null: the run is finished.
     * @throws MayflyError why it can't start, which {@link endAttempt} records
     */
    async beginAttempt({ runId }: Pick<RunInput, 'runId'>): Promise<StartedAttempt | LacksSlot | null> {
      const run = await requireRun(store, runId);
      const last = getLastAttempt(run);
      if (last && last.cleanup === 'pending') {
        if (isFirstSinceAdmission(run, run.attempts.at(-2))) await auditAdmission(run);
        return toStartedAttempt(run, last, store);
      }
      if (!ACTIVE_STATES.some((state) => state === run.state)) return null;
      if (run.cancelledBy !== null) {
        await endCancelled(run);
        return null;
      }
      if (hasReleasedSlot(run)) return { lacksSlot: true };
      const attempt = nextAttempt(run);
      const attempts = [...run.attempts.slice(0, attempt.n - 1), attempt];
      const next = { tries: run.tries + 1, attempts, member: null } as const;
      const changes = { ...next, state: 'preparing', waitingFor: null, updatedAt: attempt.begunAt } as const;
      const [begun] = await Promise.all([
        toStartedAttempt({ ...run, ...changes }, attempt, store),
        store.runs.begin(runId, ACTIVE_STATES, changes),
        isFirstSinceAdmission(run, attempts.at(-2)) && auditAdmission(run),
      ]);
      return begun;
    },
  };
}

function nextAttempt(run: RunRecord): Attempt {
  const n = run.attempts.filter(({ outcome }) => outcome !== 'not-started').length + 1;
  const begunAt = steadyClock.iso();
  return { n, ...deriveAttemptIds(run.id, run.tries + 1), begunAt, cleanup: 'pending', secrets: [], ...PENDING };
}

function isFirstSinceAdmission({ admittedAt }: RunRecord, before: Attempt | undefined): boolean {
  return !before || before.begunAt < (admittedAt ?? '');
}

async function toStartedAttempt(run: RunRecord, attempt: Attempt, store: Store): Promise<StartedAttempt> {
  const { id: runId, tries, cancelledBy } = run;
  const { n, sandboxId, commandId, outcome, begunAt } = attempt;
  const [sandbox, command, spec] = await Promise.all([
    store.sandboxes.get(sandboxId),
    store.commands.get(commandId),
    acceptedSpec(store, run),
  ]);
  const isStarted = command !== null && command.state !== 'requested';
  return {
    runId,
    n,
    sandboxId,
    commandId,
    begunAt,
    tries,
    isPresent: sandbox !== null,
    isStarted,
    hasEnded: outcome !== null,
    cancelledBy,
    ...(spec?.keep && { keeps: true }),
    ...(spec?.diff && { diffs: true }),
    ...(spec?.wait?.time === 'stops' && { stops: true }),
  };
}
