import { sha256 } from '@noble/hashes/sha2.js';
import { utf8ToBytes } from '@noble/hashes/utils.js';
import { Context, log } from '@temporalio/activity';
import { type ErrorCode, MayflyError } from '../../model/errors.ts';
import type { AttemptEnd } from '../../model/functions/command-end.ts';
import { getLastAttempt, type RunRecord } from '../../model/functions/run.ts';
import type { RunFailure } from '../../model/functions/run-state.ts';
import { ID_BYTES, isRunId, operationIdFrom } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import type { PauseOperation } from '../../model/sagas/messages.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import {
  DEFAULT_WAIT,
  getRemainingMs,
  getWaiting,
  hasReleasedSlot,
  type RunWaiting,
} from '../../model/waitpoints/waiting.ts';
import { getEffectiveState, type WaitpointRecord } from '../../model/waitpoints/waitpoint.ts';
import type { Store } from '../../store/connect.ts';
import type { ControlTemporalClient } from '../../temporal/reconciliation.ts';
import { requireSpec } from '../function/accepted-version.ts';
import { toFailure } from '../function/refusal.ts';
import { withHeartbeats } from '../step/step-context.ts';

interface Deps {
  store: Store;
  reconciliation: Pick<ControlTemporalClient, 'sandboxes' | 'functions'>;
}

interface AttemptTarget {
  runId: string;
  /** Sandbox of the attempt. */
  attemptId: string;
}

interface SuspendedAttempt extends AttemptTarget {
  /** Names of waitpoints delivered to its guest. */
  given: string[];
}

interface SuspensionTry extends AttemptTarget {
  /** Number of the try: each is an operation of its own. */
  nth: number;
}

/** Next step for a hibernated machine. `gone`: its sandbox ends, or it runs. */
type NextOfSuspended =
  | { is: 'asleep' /** Longest time until the next poll, ms. */; withinMs: number }
  | { is: 'wake' | 'gone' | 'timed-out' };

type TimeLeft = { is: 'left' /** Milliseconds. */; ms: number } | { is: 'stands' | 'not-started' };

interface EndOfSleeper extends AttemptTarget {
  outcome: 'timed-out' | 'cancelled';
}

const DAY_SECONDS = 86_400;
/** TTL of a sandbox, extended once a day has passed of it. */
const LIFE_SECONDS = LIMITS.ttlSeconds.max;
/** Poll interval for runs that wait for slots, in case a wake signal is lost. Milliseconds. */
const SLOTS_MS = 15_000;

/**
 * Activities for runs whose machines are hibernated while their processes wait. Each change of a machine is an
 * operation of its sandbox.
 */
export function createSuspensionActivities({ store, reconciliation }: Deps) {
  /** Returns the running run; null: it has a later attempt, or does not run. */
  async function findRunning({ runId, attemptId }: AttemptTarget): Promise<RunRecord | null> {
    if (!isRunId(runId)) throw new MayflyError('invalid_id', 'That is no run.');
    const run = await store.runs.get(runId);
    return run?.state === 'running' && getLastAttempt(run)?.sandboxId === attemptId ? run : null;
  }

  const commandOf = (run: RunRecord) => store.commands.get(getLastAttempt(run)?.commandId ?? '');

  async function leftMs(run: RunRecord, waiting: RunWaiting): Promise<number | null> {
    const { timeoutSeconds, wait = DEFAULT_WAIT } = await requireSpec(store, run);
    const command = await commandOf(run);
    return command && getRemainingMs({ command, waiting, time: wait.time, timeoutSeconds }, Date.now());
  }

  async function runOperation(sandboxId: string, operation: PauseOperation): Promise<RunFailure | null> {
    try {
      await reconciliation.sandboxes.operate(sandboxId, operation);
      const failure = await withHeartbeats(operation.kind, ({ signal }) =>
        reconciliation.sandboxes.operated(sandboxId, operation.operationId, signal),
      );
      return failure && { code: failure.code, message: `${failure.step}: ${failure.message}` };
    } catch (error) {
      Context.current().cancellationSignal.throwIfAborted();
      return toFailure(error, ['store_unavailable', 'temporal_unavailable']);
    }
  }

  async function queue(run: RunRecord): Promise<void> {
    if (!(await store.waitingRuns.queue(run, new Date().toISOString()))) return;
    await reconciliation.functions.ensureDispatcher({ project: run.project, name: run.function });
  }

  /** Extends the TTL: a run may wait longer than a sandbox's maximum TTL. */
  async function extendTtl({ id, expiresAt }: SandboxRecord, run: RunRecord): Promise<void> {
    if (Date.parse(expiresAt) - Date.now() > (LIFE_SECONDS - DAY_SECONDS) * 1_000) return;
    try {
      await reconciliation.sandboxes.patch(id, { ttlSeconds: LIFE_SECONDS, actor: run.createdBy });
    } catch (error) {
      log.warn('the life of a sandbox that sleeps is prolonged later', { sandboxId: id, why: String(error) });
    }
  }

  return {
    /** Records that its machine is about to be hibernated. @returns false: a delivery or cancel prevents it now */
    async beginSleep(sleeper: SuspendedAttempt): Promise<boolean> {
      const run = await findRunning(sleeper);
      if (!run || run.cancelledBy !== null) return false;
      const waiting = getWaiting(run, sleeper.attemptId);
      if (waiting.asleepAt !== null) return true;
      if (isAnswered(await store.waitpoints.list(run.id), sleeper)) return false;
      const at = new Date().toISOString();
      return store.waitingRuns.record(run.id, { ...waiting, asleepAt: at, failure: null }, at);
    },

    /** Hibernates its sandbox. @returns the failure; null: hibernated */
    async sleepAttempt({ attemptId, nth, runId }: SuspensionTry): Promise<RunFailure | null> {
      const run = await findRunning({ runId, attemptId });
      if (!run) return null;
      return runOperation(attemptId, operationOf('hibernate', run, attemptId, nth));
    },

    /** Releases the slots of a hibernated run, if its function allows that. */
    async yieldSlots(sleeper: AttemptTarget): Promise<void> {
      const run = await findRunning(sleeper);
      if (!run || run.cancelledBy !== null) return;
      const { wait = DEFAULT_WAIT } = await requireSpec(store, run);
      if (!wait.releaseSlot) return;
      const isNew = await store.waitingRuns.yieldSlots(run.id, new Date().toISOString());
      if (isNew) await reconciliation.functions.ensureDispatcher({ project: run.project, name: run.function });
    },

    /** Returns the next step for a hibernated machine; queues a run with new data that lacks slots. */
    async lookAtSleeper(sleeper: SuspendedAttempt): Promise<NextOfSuspended> {
      const run = await findRunning(sleeper);
      const sandbox = run && (await store.sandboxes.get(sleeper.attemptId));
      if (!run || !sandbox || isFinal(sandbox.state) || sandbox.state === 'destroying') return { is: 'gone' };
      const left = await leftMs(run, getWaiting(run, sleeper.attemptId));
      if (left !== null && left <= 0) return { is: 'timed-out' };
      const now = Date.now();
      const all = await store.waitpoints.list(run.id);
      if (!isAnswered(all, sleeper)) {
        await extendTtl(sandbox, run);
        const ends = all.filter(isAsked).map(({ expiresAt }) => Date.parse(expiresAt) - now);
        return { is: 'asleep', withinMs: Math.max(0, Math.min(...ends, left ?? Number.MAX_SAFE_INTEGER)) };
      }
      if (!hasReleasedSlot(run)) return { is: 'wake' };
      await queue(run);
      return { is: 'asleep', withinMs: Math.min(SLOTS_MS, left ?? SLOTS_MS) };
    },

    /** Wakes its sandbox. @returns the failure; null: it runs */
    async wakeAttempt({ attemptId, nth, runId }: SuspensionTry): Promise<RunFailure | null> {
      const run = await findRunning({ runId, attemptId });
      const sandbox = run && (await store.sandboxes.get(attemptId));
      if (!run || !sandbox || isFinal(sandbox.state)) return null;
      const failure = await runOperation(attemptId, operationOf('resume', run, attemptId, nth));
      if (failure) {
        const waitingFor = lacksCapacity(failure.code) ? 'capacity' : 'host';
        await store.runs.change(run.id, ['running'], { waitingFor, updatedAt: new Date().toISOString() });
      } else await extendTtl(sandbox, run);
      return failure;
    },

    /** Records that its machine runs. @param failure failed hibernation; null: it was hibernated */
    async endSleep({ failure, ...sleeper }: AttemptTarget & { failure: RunFailure | null }): Promise<void> {
      const run = await findRunning(sleeper);
      if (!run) return;
      const waiting = { ...getWaiting(run, sleeper.attemptId), asleepAt: null, failure };
      await store.waitingRuns.record(run.id, waiting, new Date().toISOString());
    },

    /** Returns the time left to its process; `stands`: the clock is stopped. */
    async timeLeft(attempt: AttemptTarget): Promise<TimeLeft> {
      const run = await findRunning(attempt);
      const command = run && (await commandOf(run));
      if (!run || !command) return { is: 'stands' };
      if (command.state === 'requested') return { is: 'not-started' };
      const ms = await leftMs(run, getWaiting(run, attempt.attemptId));
      return ms === null ? { is: 'stands' } : { is: 'left', ms };
    },

    /** Reports whether it was hibernated, or about to be, when its workflow was lost. */
    async isAsleep(attempt: AttemptTarget): Promise<boolean> {
      const run = await findRunning(attempt);
      return run !== null && getWaiting(run, attempt.attemptId).asleepAt !== null;
    },

    /** Returns the end of an attempt that is not woken any longer. */
    async endOfSleeper({ outcome, ...attempt }: EndOfSleeper): Promise<AttemptEnd> {
      const run = await findRunning(attempt);
      const command = run && (await commandOf(run));
      const message = 'it did not end within its time: it waited, and was not woken any more';
      const failure = outcome === 'timed-out' ? { code: 'run_timed_out' as const, message } : null;
      return { outcome, exitCode: null, signal: null, startedAt: command?.startedAt ?? null, failure };
    },

    /** Reports whether a run has its slots; queues it when it has none. */
    async hasSlots({ runId }: Pick<SuspendedAttempt, 'runId'>): Promise<boolean> {
      const run = await store.runs.get(runId);
      if (!run || !hasReleasedSlot(run)) return true;
      await queue(run);
      return false;
    },
  };

  function operationOf(kind: 'hibernate' | 'resume', run: RunRecord, attemptId: string, nth: number): PauseOperation {
    const { asleepAt } = getWaiting(run, attemptId);
    const digest = sha256(utf8ToBytes(`${attemptId}/${asleepAt ?? ''}/${kind}/${nth}`));
    return { kind, operationId: operationIdFrom(digest.slice(0, ID_BYTES)), actor: run.createdBy };
  }
}

/** Reports whether its process can continue: undelivered data, or no open waitpoint. */
function isAnswered(all: readonly WaitpointRecord[], { given }: Pick<SuspendedAttempt, 'given'>): boolean {
  const asked = all.filter(isAsked);
  const open = asked.filter((each) => getEffectiveState(each, Date.now()) === 'open');
  return open.length === 0 || asked.some((each) => !open.includes(each) && !given.includes(each.name));
}

function isAsked({ askedAt }: WaitpointRecord): boolean {
  return askedAt !== null;
}

function lacksCapacity(code: ErrorCode): boolean {
  return code === 'capacity_exhausted' || code === 'quota_exceeded' || code === 'host_disk_full';
}
