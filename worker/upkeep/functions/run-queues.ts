import type { Logger } from 'pino';
import { beginRun } from '../../../activities/function/begin-run.ts';
import { isMayflyError } from '../../../model/errors.ts';
import { type BulkInput, bulkWorkflowId } from '../../../model/functions/bulk.ts';
import { deriveRunId, type RunRecord } from '../../../model/functions/run.ts';
import { ACTIVE_STATES, WAITING_STATES } from '../../../model/functions/run-state.ts';
import { steadyClock } from '../../../model/steady-clock.ts';
import type { Store } from '../../../store/connect.ts';
import { hasOpenRuns, removeFunction } from '../../../store/functions/queue/function-removal.ts';
import { gatheringPrefix, isGathering } from '../../../store/functions/run-place.ts';
import type { PastRun } from '../../../store/retention/past-runs.ts';
import type { ControlTemporalClient } from '../../../temporal/reconciliation.ts';
import { BatchEnds } from '../gathering/batch-ends.ts';
import { GatheredEvents } from '../gathering/gathered-events.ts';

/** Poll interval for runs that are due or have no wake signal, ms. */
export const QUEUE_POLL_MS = 1_000;
/** Interval of restarting a queue's dispatcher, ms. */
const ENSURED_EVERY_MS = 5_000;
/** Age at which an admitted run without a workflow is started here, ms: its dispatcher has died. */
const START_GRACE_MS = 5_000;
/**
 * Age at which a requested deletion is finished here, ms: the requester has died. Earlier the name may already be
 * another's.
 */
const DELETE_GRACE_MS = 5_000;
/** Silence after which a bulk action is resumed, ms; a running one reports with each page. */
const BULK_SILENT_MS = 10_000;
/** Maximum number per poll. */
const AT_ONCE = 500;

/**
 * Polls for missed wake signals: due, expired, cancelled or resumable runs, queues without a dispatcher, and functions
 * deleted with their last run.
 */
export class RunQueuePoller {
  /** Time of the last start of a dispatcher by `<project>/<name>`, ms of the monotonic clock. */
  readonly #ensuredAt = new Map<string, number>();
  readonly #gathered: GatheredEvents;
  readonly #batchEnds: BatchEnds;

  constructor(
    readonly store: Store,
    readonly reconciliation: Pick<ControlTemporalClient, 'functions' | 'resume'>,
    private readonly logger: Logger,
  ) {
    this.#gathered = new GatheredEvents(store);
    this.#batchEnds = new BatchEnds(store);
  }

  /** @throws the first failure, after all other duties are done */
  async look(): Promise<void> {
    const duties = [
      () => this.#wake(),
      () => this.#recordBatchEnds(),
      () => this.#ensureDispatchers(),
      () => this.#startRuns(),
      () => this.#resumeBulks(),
      () => this.#removeFunctions(),
    ];
    const failures: unknown[] = [];
    for (const duty of duties) await duty().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  }

  async #recordBatchEnds(): Promise<void> {
    for (const batch of await this.store.gatheredRuns.untold(AT_ONCE)) {
      await this.#isolate({ runId: batch.id }, () => this.#batchEnds.tell(batch));
    }
  }

  async #startRuns(): Promise<void> {
    for (const run of await this.store.runs.notBegun(before(START_GRACE_MS))) {
      await this.#isolate({ runId: run.id }, () => beginRun(this, run));
    }
  }

  async #resumeBulks(): Promise<void> {
    for (const { id: bulkId, project, function: name, updatedAt } of await this.store.bulks.open()) {
      if (updatedAt >= before(BULK_SILENT_MS)) continue;
      await this.#isolate({ bulkId }, () => this.#resumeBulk({ bulkId, project, function: name }));
    }
  }

  async #removeFunctions(): Promise<void> {
    for (const ref of await this.store.functions.draining()) {
      if (ref.updatedAt >= before(DELETE_GRACE_MS)) continue;
      if (!(await hasOpenRuns(this.store, ref))) await removeFunction(this.store, ref);
    }
  }

  #resumeBulk(bulk: BulkInput): Promise<void> {
    return this.reconciliation.resume(bulkWorkflowId(bulk.bulkId), () => this.reconciliation.functions.startBulk(bulk));
  }

  /** Removes runs whose retention has expired; a run with a successor of the same event is removed after it. */
  async removePast(): Promise<void> {
    const { pastRuns } = this.store;
    const now = new Date().toISOString();
    await this.store.bulks.removePast(now);
    for (let after = ''; ; ) {
      const page = await pastRuns.past(after, now, AT_ONCE);
      for (const { run } of page) await this.#remove(run);
      const last = page.at(-1);
      if (!last) return;
      after = last.removeAfter;
    }
  }

  async #remove({ id, cleanup, dedupe, epoch, redriveOf }: PastRun): Promise<void> {
    const { runs, pastRuns, runContents, receipts, waitpoints } = this.store;
    const next = deriveRunId(dedupe, epoch + 1);
    if (cleanup === 'pending' || (await runs.ends([next])).has(next)) return;
    if (redriveOf !== null) await runs.redriven(redriveOf, id); // the process that redrove it may have died before this
    await runContents.remove(id);
    await receipts.remove(id);
    await waitpoints.removeOf(id);
    await pastRuns.remove(id);
  }

  /** Starts the dispatcher of a new queue at once, of others periodically: most have a running one. */
  async #ensureDispatchers(): Promise<void> {
    const queues = await this.store.runQueue.functions();
    const now = performance.now();
    const known = new Map(this.#ensuredAt);
    this.#ensuredAt.clear();
    for (const ref of queues) {
      const id = `${ref.project}/${ref.name}`;
      const at = known.get(id) ?? -Infinity;
      const isDue = now - at >= ENSURED_EVERY_MS;
      if (isDue) await this.reconciliation.functions.ensureDispatcher(ref);
      this.#ensuredAt.set(id, isDue ? now : at);
    }
  }

  async #wake(): Promise<void> {
    const now = steadyClock.iso();
    const groups = new Set<string>();
    for (const run of await this.store.runQueue.due(now, AT_ONCE)) {
      await this.#isolate({ runId: run.id }, () => this.#wakeOne(run, now, groups));
    }
  }

  async #wakeOne(run: RunRecord, now: string, groups: Set<string>): Promise<void> {
    if (ACTIVE_STATES.some((state) => state === run.state)) await this.#deliver(run, now);
    else if (run.expiresAt <= now) await this.#expire(run, now);
    else if (run.gathering || run.isBatch) await this.#gather(run, now, groups);
    else await this.store.runQueue.enqueue(run);
  }

  /** A failure does not block other runs. @throws MayflyError store_unavailable */
  async #isolate(what: object, act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      if (isMayflyError(error, 'store_unavailable')) throw error;
      this.logger.warn({ err: error, ...what }, 'run not handled');
    }
  }

  /** @param groups groups that this poll has already handled */
  async #gather(run: RunRecord, now: string, groups: Set<string>): Promise<void> {
    const group = isGathering(run) ? gatheringPrefix(run) : run.id;
    if (groups.has(group)) return;
    groups.add(group);
    const isQueued = await this.#gathered.look(run, now);
    if (isQueued) await this.reconciliation.functions.wakeDispatcher({ project: run.project, name: run.function });
  }

  /** Delivers a recorded cancel or waitpoint data whose sender may have died before notifying the run. */
  async #deliver({ id, cancelledBy }: RunRecord, now: string): Promise<void> {
    if (!cancelledBy) {
      await this.reconciliation.functions.lookAtWaits(id);
      return this.store.waitingRuns.told(id, now);
    }
    await this.reconciliation.functions.cancelRun(id, cancelledBy);
    await this.store.runs.cancelTold(id);
  }

  async #expire(run: RunRecord, at: string): Promise<void> {
    const ended = { outcome: 'expired', endedAt: at, updatedAt: at } as const;
    await this.store.runs.end(run.id, WAITING_STATES, ended, run.retentionDays);
  }
}

function before(ms: number): string {
  return new Date(steadyClock.now() - ms).toISOString();
}
