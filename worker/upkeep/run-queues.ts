import type { Logger } from 'pino';
import type { RunRecord } from '../../model/functions/run.ts';
import { runInputOf } from '../../model/functions/run-saga.ts';
import type { Reconciliation } from '../../sagas/reconciliation.ts';
import type { Store } from '../../store/connect.ts';
import { hasOpenRuns, removeFunction } from '../../store/functions/function-removal.ts';

/** How soon a run is begun of which nobody was told, or which is due. Milliseconds. */
export const LOOK_AT_QUEUES_EVERY_MS = 1_000;
/** Who admits a run begins it at once, or has died. Milliseconds. */
const NOT_BEGUN_MS = 5_000;
/** Of one look. */
const AT_ONCE = 500;

/** Looks at what nobody tells of: runs that are due or have expired, queues without a dispatcher, functions that go with their last run. */
export class RunQueues {
  constructor(
    private readonly store: Store,
    private readonly reconciliation: Reconciliation,
    private readonly logger: Logger,
  ) {}

  async look(): Promise<void> {
    try {
      await this.#wake();
      for (const ref of await this.store.runQueue.functions()) await this.reconciliation.ensureDispatcher(ref);
      for (const run of await this.store.runs.notBegun(before(NOT_BEGUN_MS))) {
        await this.reconciliation.startRun(runInputOf(run));
      }
      for (const ref of await this.store.functions.draining()) {
        if (!(await hasOpenRuns(this.store, ref))) await removeFunction(this.store, ref);
      }
    } catch (error) {
      this.logger.warn({ err: error }, 'queues of functions are looked at again in a second');
    }
  }

  /** Removes runs that are to be kept no longer. */
  async removePast(): Promise<void> {
    const { runs, runContents } = this.store;
    const now = new Date().toISOString();
    for (let ids = await runs.past(now, AT_ONCE); ids.length > 0; ids = await runs.past(now, AT_ONCE)) {
      for (const id of ids) {
        await runContents.remove(id);
        await runs.remove(id);
      }
    }
  }

  async #wake(): Promise<void> {
    const now = new Date().toISOString();
    for (const run of await this.store.runQueue.due(now, AT_ONCE)) {
      if (run.expiresAt <= now) await this.#expire(run, now);
      else await this.store.runQueue.enqueue(run);
    }
  }

  async #expire(run: RunRecord, at: string): Promise<void> {
    const version = await this.store.functionVersions.get({ project: run.project, name: run.function }, run.version);
    const ended = { outcome: 'expired', endedAt: at, updatedAt: at } as const;
    await this.store.runs.end(run.id, ['delayed', 'queued'], ended, version?.spec.retentionDays ?? 30);
  }
}

function before(ms: number): string {
  return new Date(Date.now() - ms).toISOString();
}
