import type { Logger } from 'pino';
import type { RunRecord } from '../../model/functions/run.ts';
import type { Reconciliation } from '../../sagas/reconciliation.ts';
import type { Store } from '../../store/connect.ts';
import { removeFunction } from '../../store/functions/function-removal.ts';

/** How soon a run is begun of which nobody was told, or which is due. Milliseconds. */
export const LOOK_AT_QUEUES_EVERY_MS = 1_000;
/** Of one look. */
const AT_ONCE = 500;
const DAY_MS = 86_400_000;

/** Looks at what nobody tells of: runs that are due or have expired, queues without a dispatcher, what is past. */
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
    } catch (error) {
      this.logger.warn({ err: error }, 'queues of functions are looked at again in a second');
    }
  }

  /** Removes runs that are to be kept no longer, and functions that were to go with their last run. */
  async removePast(): Promise<void> {
    const { runs, runContents } = this.store;
    const now = new Date().toISOString();
    for (let ids = await runs.past(now, AT_ONCE); ids.length > 0; ids = await runs.past(now, AT_ONCE)) {
      for (const id of ids) {
        await runContents.remove(id);
        await runs.remove(id);
      }
    }
    for (const { project, name } of await this.store.functions.draining()) await this.#removeDrained(project, name);
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

  async #removeDrained(project: string, name: string): Promise<void> {
    if ((await this.store.runs.admitted({ project, function: name })).length > 0) return;
    if (await this.store.runQueue.next({ project, name }, '')) return;
    const { items } = await this.store.runs.list({ project, function: name, state: 'delayed', limit: 1 });
    if (items.length === 0) await removeFunction(this.store, { project, name });
  }
}
