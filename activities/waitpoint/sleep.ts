import { sha256 } from '@noble/hashes/sha2.js';
import { utf8ToBytes } from '@noble/hashes/utils.js';
import { Context, log } from '@temporalio/activity';
import { type ErrorCode, MayflyError } from '../../model/errors.ts';
import type { AttemptEnd } from '../../model/functions/command-end.ts';
import { lastAttempt, type RunRecord } from '../../model/functions/run.ts';
import type { RunFailure } from '../../model/functions/run-state.ts';
import { ID_BYTES, isRunId, operationIdFrom } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import type { PauseOperation } from '../../model/sagas/messages.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { DEFAULT_WAIT, lacksSlot, type RunWaiting, timeLeftMs, waitingOf } from '../../model/waitpoints/waiting.ts';
import { stateOf, type WaitpointRecord } from '../../model/waitpoints/waitpoint.ts';
import type { Store } from '../../store/connect.ts';
import type { Reconciliation } from '../../temporal/reconciliation.ts';
import { requireSpec } from '../function/accepted-version.ts';
import { refusalIn } from '../function/refusal.ts';
import { withHeartbeats } from '../step/step-context.ts';

interface Deps {
  store: Store;
  reconciliation: Pick<Reconciliation, 'sandboxes' | 'functions'>;
}

interface OfAttempt {
  runId: string;
  /** The sandbox of the attempt. */
  attemptId: string;
}

interface Sleeper extends OfAttempt {
  /** Names of what its guest has got. */
  given: string[];
}

interface SleepAct extends OfAttempt {
  /** Which try it is: each is an operation of its own. */
  nth: number;
}

/** What is to be done with a machine that sleeps. `gone`: its sandbox ends, or it runs. */
type NextOfSleeper =
  | { is: 'asleep' /** Until it is looked at again, at the latest. Milliseconds. */; withinMs: number }
  | { is: 'wake' | 'gone' | 'timed-out' };

type TimeLeft = { is: 'left' /** Milliseconds. */; ms: number } | { is: 'stands' | 'not-started' };

interface EndOfSleeper extends OfAttempt {
  outcome: 'timed-out' | 'cancelled';
}

const DAY_SECONDS = 86_400;
/** A life is prolonged when less than this is left of it, a day after it was. */
const LIFE_SECONDS = LIMITS.ttlSeconds.max;
/** What waits for slots is looked at so often, whoever forgets to tell. Milliseconds. */
const SLOTS_MS = 15_000;

/** Runs whose machines are hibernated while their processes wait. What is done to a machine is an operation of its sandbox. */
export function createSleepActivities({ store, reconciliation }: Deps) {
  /** Null: another attempt came after it, or it runs no more. */
  async function known({ runId, attemptId }: OfAttempt): Promise<RunRecord | null> {
    if (!isRunId(runId)) throw new MayflyError('invalid_id', 'That is no run.');
    const run = await store.runs.get(runId);
    return run?.state === 'running' && lastAttempt(run)?.sandboxId === attemptId ? run : null;
  }

  const commandOf = (run: RunRecord) => store.commands.get(lastAttempt(run)?.commandId ?? '');

  async function leftMs(run: RunRecord, waiting: RunWaiting): Promise<number | null> {
    const { timeoutSeconds, wait = DEFAULT_WAIT } = await requireSpec(store, run);
    const command = await commandOf(run);
    return command && timeLeftMs({ command, waiting, time: wait.time, timeoutSeconds }, Date.now());
  }

  async function operated(sandboxId: string, operation: PauseOperation): Promise<RunFailure | null> {
    try {
      await reconciliation.sandboxes.operate(sandboxId, operation);
      const failure = await withHeartbeats(operation.kind, ({ signal }) =>
        reconciliation.sandboxes.operated(sandboxId, operation.operationId, signal),
      );
      return failure && { code: failure.code, message: `${failure.step}: ${failure.message}` };
    } catch (error) {
      Context.current().cancellationSignal.throwIfAborted();
      return refusalIn(error, ['store_unavailable', 'temporal_unavailable']);
    }
  }

  async function queue(run: RunRecord): Promise<void> {
    if (!(await store.waitingRuns.queue(run, new Date().toISOString()))) return;
    await reconciliation.functions.ensureDispatcher({ project: run.project, name: run.function });
  }

  /** A run waits longer than the life of a sandbox may be at its beginning. */
  async function prolong({ id, expiresAt }: SandboxRecord, run: RunRecord): Promise<void> {
    if (Date.parse(expiresAt) - Date.now() > (LIFE_SECONDS - DAY_SECONDS) * 1_000) return;
    try {
      await reconciliation.sandboxes.patch(id, { ttlSeconds: LIFE_SECONDS, actor: run.createdBy });
    } catch (error) {
      log.warn('the life of a sandbox that sleeps is prolonged later', { sandboxId: id, why: String(error) });
    }
  }

  return {
    /** Writes down that its machine is about to be hibernated. @returns false: there is a reason against it now */
    async beginSleep(sleeper: Sleeper): Promise<boolean> {
      const run = await known(sleeper);
      if (!run || run.cancelledBy !== null) return false;
      const waiting = waitingOf(run, sleeper.attemptId);
      if (waiting.asleepAt !== null) return true;
      if (isAnswered(await store.waitpoints.list(run.id), sleeper)) return false;
      const at = new Date().toISOString();
      return store.waitingRuns.record(run.id, { ...waiting, asleepAt: at, failure: null }, at);
    },

    /** Has its sandbox hibernate. @returns why it does not; null: it does */
    async sleepAttempt({ attemptId, nth, runId }: SleepAct): Promise<RunFailure | null> {
      const run = await known({ runId, attemptId });
      if (!run) return null;
      return operated(attemptId, operationOf('hibernate', run, attemptId, nth));
    },

    /** Its machine sleeps: its slots are others', where its function says so. */
    async yieldSlots(sleeper: OfAttempt): Promise<void> {
      const run = await known(sleeper);
      if (!run || run.cancelledBy !== null) return;
      const { wait = DEFAULT_WAIT } = await requireSpec(store, run);
      if (!wait.releaseSlot) return;
      const isNew = await store.waitingRuns.yieldSlots(run.id, new Date().toISOString());
      if (isNew) await reconciliation.functions.ensureDispatcher({ project: run.project, name: run.function });
    },

    /** What is next for one whose machine sleeps; one for which something came is put into the queue where it has no slots. */
    async lookAtSleeper(sleeper: Sleeper): Promise<NextOfSleeper> {
      const run = await known(sleeper);
      const sandbox = run && (await store.sandboxes.get(sleeper.attemptId));
      if (!run || !sandbox || isFinal(sandbox.state) || sandbox.state === 'destroying') return { is: 'gone' };
      const left = await leftMs(run, waitingOf(run, sleeper.attemptId));
      if (left !== null && left <= 0) return { is: 'timed-out' };
      const now = Date.now();
      const all = await store.waitpoints.list(run.id);
      if (!isAnswered(all, sleeper)) {
        await prolong(sandbox, run);
        const ends = all.filter(isAsked).map(({ expiresAt }) => Date.parse(expiresAt) - now);
        return { is: 'asleep', withinMs: Math.max(0, Math.min(...ends, left ?? Number.MAX_SAFE_INTEGER)) };
      }
      if (!lacksSlot(run)) return { is: 'wake' };
      await queue(run);
      return { is: 'asleep', withinMs: Math.min(SLOTS_MS, left ?? SLOTS_MS) };
    },

    /** Has its sandbox go on, where it was. @returns why it does not; null: it does */
    async wakeAttempt({ attemptId, nth, runId }: SleepAct): Promise<RunFailure | null> {
      const run = await known({ runId, attemptId });
      const sandbox = run && (await store.sandboxes.get(attemptId));
      if (!run || !sandbox || isFinal(sandbox.state)) return null;
      const failure = await operated(attemptId, operationOf('resume', run, attemptId, nth));
      if (failure) {
        const waitingFor = isForRoom(failure.code) ? 'capacity' : 'host';
        await store.runs.change(run.id, ['running'], { waitingFor, updatedAt: new Date().toISOString() });
      } else await prolong(sandbox, run);
      return failure;
    },

    /** Its machine runs. @param failure why it was not hibernated; null: it was */
    async endSleep({ failure, ...sleeper }: OfAttempt & { failure: RunFailure | null }): Promise<void> {
      const run = await known(sleeper);
      if (!run) return;
      const waiting = { ...waitingOf(run, sleeper.attemptId), asleepAt: null, failure };
      await store.waitingRuns.record(run.id, waiting, new Date().toISOString());
    },

    /** How much of its time its process has left; `stands`: its time does not go on now. */
    async timeLeft(attempt: OfAttempt): Promise<TimeLeft> {
      const run = await known(attempt);
      const command = run && (await commandOf(run));
      if (!run || !command) return { is: 'stands' };
      if (command.state === 'requested') return { is: 'not-started' };
      const ms = await leftMs(run, waitingOf(run, attempt.attemptId));
      return ms === null ? { is: 'stands' } : { is: 'left', ms };
    },

    /** Whether it was about to be hibernated, or was, when its workflow was lost. */
    async isAsleep(attempt: OfAttempt): Promise<boolean> {
      const run = await known(attempt);
      return run !== null && waitingOf(run, attempt.attemptId).asleepAt !== null;
    },

    /** How an attempt ends that nobody wakes any more. */
    async endOfSleeper({ outcome, ...attempt }: EndOfSleeper): Promise<AttemptEnd> {
      const run = await known(attempt);
      const command = run && (await commandOf(run));
      const message = 'it did not end within its time: it waited, and was not woken any more';
      const failure = outcome === 'timed-out' ? { code: 'run_timed_out' as const, message } : null;
      return { outcome, exitCode: null, signal: null, startedAt: command?.startedAt ?? null, failure };
    },

    /** Whether a run has its slots; one that has none is put into the queue. */
    async hasSlots({ runId }: Pick<Sleeper, 'runId'>): Promise<boolean> {
      const run = await store.runs.get(runId);
      if (!run || !lacksSlot(run)) return true;
      await queue(run);
      return false;
    },
  };

  function operationOf(kind: 'hibernate' | 'resume', run: RunRecord, attemptId: string, nth: number): PauseOperation {
    const { asleepAt } = waitingOf(run, attemptId);
    const digest = sha256(utf8ToBytes(`${attemptId}/${asleepAt ?? ''}/${kind}/${nth}`));
    return { kind, operationId: operationIdFrom(digest.slice(0, ID_BYTES)), actor: run.createdBy };
  }
}

/** Whether its process has something to go on with: it was not given all that came for it, or waits for nothing. */
function isAnswered(all: readonly WaitpointRecord[], { given }: Pick<Sleeper, 'given'>): boolean {
  const asked = all.filter(isAsked);
  const open = asked.filter((each) => stateOf(each, Date.now()) === 'open');
  return open.length === 0 || asked.some((each) => !open.includes(each) && !given.includes(each.name));
}

function isAsked({ askedAt }: WaitpointRecord): boolean {
  return askedAt !== null;
}

function isForRoom(code: ErrorCode): boolean {
  return code === 'capacity_exhausted' || code === 'quota_exceeded' || code === 'host_disk_full';
}
