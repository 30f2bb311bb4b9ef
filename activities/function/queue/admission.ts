import { isMayflyError, MayflyError } from '../../../model/errors.ts';
import type { RunRecord } from '../../../model/functions/run.ts';
import { type PendingReason, type RunOutcome, WAITING_STATES } from '../../../model/functions/run-state.ts';
import { LIMITS } from '../../../model/limits.ts';
import { steadyClock } from '../../../model/steady-clock.ts';
import type { AdmissionRefusal, NextRun, QueueRules } from '../../../store/functions/queue/run-queue.ts';
import type { SagaDeps } from '../../step/saga-deps.ts';
import { acceptedSpec, boundVersion, goneVersion } from '../accepted-version.ts';
import { beginRun } from '../begin-run.ts';
import { checkSetup } from '../prepared/awaited-setup.ts';
import { readmitted } from './readmission.ts';
import { cancelSuperseded, supersedingOf } from './superseded.ts';

type AdmissionResult =
  | { is: 'admitted' | 'ended' }
  /** Wait of its key, or of the whole function. `notBefore`: until then, ms since 1970; null: until a notification. */
  | { is: 'key' | 'all'; notBefore: number | null };

type Ending = Partial<Pick<RunRecord, 'failure' | 'skippedFor' | 'supersededBy'>>;

/** Pause before a failed admission is retried; doubles each time. Milliseconds. */
const FAILED_MS = 200;
const ENDED: AdmissionResult = { is: 'ended' };

/** Admits runs one at a time. Safe to run concurrently: the admitting update decides. */
export class Admission {
  constructor(private readonly deps: SagaDeps) {}

  /**
   * Decides on the first run of a key.
   * @throws MayflyError store_unavailable; other failures are counted, and end the run at a limit
   */
  async look({ run, isWhole }: NextRun, activeVersion: number | null, now: Date): Promise<AdmissionResult> {
    if (run.state !== 'queued') return this.#back(run, now);
    if (Date.parse(run.expiresAt) <= now.getTime()) return this.#end(run, 'expired', {});
    if (run.waitingFor === 'check') return { is: 'key', notBefore: null };
    let looked: AdmissionResult;
    try {
      if (!isWhole) throw new MayflyError('record_damaged', `The record of ${run.id} can't be read.`);
      looked = await this.#decided(run, activeVersion, now);
    } catch (error) {
      if (isMayflyError(error, 'store_unavailable')) throw error;
      return this.#failed(run, error, now);
    }
    if (looked.is === 'admitted') await beginRun(this.deps, run);
    return looked;
  }

  /** Readmits a started run that waits to reacquire its slots. */
  async #back(run: RunRecord, now: Date): Promise<AdmissionResult> {
    const spec = await acceptedSpec(this.deps.store, run);
    return readmitted(this.deps, run, spec?.concurrency ?? [], now);
  }

  async #decided(run: RunRecord, activeVersion: number | null, now: Date): Promise<AdmissionResult> {
    const { store } = this.deps;
    const binding = await boundVersion(store, run, activeVersion);
    if (!binding) {
      const { code, message } = goneVersion(run);
      return this.#end(run, 'not-started', { failure: { code, message } });
    }
    const accepted = run.lateBinding ? await acceptedSpec(store, run) : null;
    const rules = accepted ?? binding.spec;
    if (await this.#isSuperseded(run, rules, now)) return ENDED;
    const setup = await checkSetup(this.deps, run, binding.spec);
    if (setup.is === 'failed') return this.#end(run, 'not-started', { failure: setup.failure });
    if (setup.is === 'awaited') return this.#waits(run, 'setup');
    const { version, versionDigest } = binding;
    const held = await store.runQueue.admit(run, rules, now.toISOString(), { version, versionDigest });
    if (!held) return { is: 'admitted' };
    return this.#held(run, held);
  }

  async #held(run: RunRecord, held: AdmissionRefusal): Promise<AdmissionResult> {
    if (held.onFull === 'skip') {
      return this.#end(run, 'skipped', { skippedFor: held.why === 'throttle' ? 'rate' : 'singleton' });
    }
    const { is } = await this.#waits(run, held.why);
    return { is: held.isOfAll ? 'all' : is, notBefore: held.why === 'throttle' ? held.notBefore : null };
  }

  async #waits(run: RunRecord, waitingFor: PendingReason): Promise<Extract<AdmissionResult, { is: 'key' | 'all' }>> {
    if (run.waitingFor !== waitingFor) await this.deps.store.runs.change(run.id, ['queued'], { waitingFor });
    return { is: 'key', notBefore: null };
  }

  /** Ends the run when enough newer ones have arrived, or cancels older ones for it. @returns true when it has ended */
  async #isSuperseded(run: RunRecord, { concurrency }: QueueRules, now: Date): Promise<boolean> {
    const found = await supersedingOf(this.deps.store, run, concurrency);
    if (!found) return false;
    const { by, cancelled } = found;
    if (by !== null) await this.#end(run, 'skipped', { skippedFor: 'superseded', supersededBy: by });
    const superseded = { by: run.id, cancelledBy: run.createdBy, now };
    for (const { id } of cancelled) await cancelSuperseded(this.deps, id, superseded);
    return by !== null;
  }

  async #failed(run: RunRecord, error: unknown, now: Date): Promise<AdmissionResult> {
    const times = await this.deps.store.runQueue.failed(run.id);
    if (times < LIMITS.functions.failedAdmissions) {
      return { is: 'key', notBefore: now.getTime() + FAILED_MS * 2 ** times };
    }
    const code = error instanceof MayflyError ? error.code : 'internal';
    const message = `It could not be admitted: ${error instanceof Error ? error.message : String(error)}`;
    return this.#end(run, 'not-started', { failure: { code, message } });
  }

  async #end(run: RunRecord, outcome: RunOutcome, why: Ending): Promise<AdmissionResult> {
    const at = steadyClock.iso();
    const ended = { outcome, ...why, endedAt: at, updatedAt: at };
    await this.deps.store.runs.end(run.id, WAITING_STATES, ended, run.retentionDays);
    return ENDED;
  }
}
