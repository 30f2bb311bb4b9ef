import { ERRORS, MayflyError } from '../../model/errors.ts';
import {
  type BulkPage,
  type BulkPlace,
  type BulkProgress,
  type BulkRecord,
  type BulkRefusal,
  getRunFilters,
} from '../../model/functions/bulk.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import { isRunId } from '../../model/ids.ts';
import type { Store } from '../../store/connect.ts';
import { cancelRun } from '../../store/functions/run-cancel.ts';
import { createProjectStore, type ProjectStore } from '../../store/project-store.ts';
import type { ControlTemporalClient } from '../../temporal/reconciliation.ts';

type ReplaySource = Pick<BulkRecord, 'version'> & { actor: BulkRecord['createdBy'] };

/** Replays the event of a run, as the API does; idempotent with the same `once`. */
export interface EventReplayer {
  replay(store: ProjectStore, run: RunRecord, of: ReplaySource & { once: string }): Promise<unknown>;
  redrive(store: ProjectStore, run: RunRecord, of: ReplaySource): Promise<unknown>;
}

interface Deps {
  store: Store;
  reconciliation: ControlTemporalClient;
  acceptAgain: EventReplayer;
}

/** Runs of a page: few enough for the timeout of an activity, even on a slow store. */
const PAGE = 25;

/** Activities of a bulk action, all idempotent. */
export function createBulkActivities({ store, reconciliation, acceptAgain }: Deps) {
  async function mustGet(bulkId: string): Promise<BulkRecord> {
    const bulk = await store.bulks.get(bulkId);
    if (bulk) return bulk;
    throw new MayflyError('bulk_not_found', `There is no bulk action ${bulkId}.`);
  }

  /** @returns true when the action changed the run @throws MayflyError the refusal */
  async function act(bulk: BulkRecord, run: RunRecord | null): Promise<boolean> {
    const { action, version, createdBy: actor, project } = bulk;
    if (run?.project !== project || run.function !== bulk.function) return false;
    if (action === 'cancel') {
      if (run.state === 'ended') return run.outcome === 'cancelled' && (run.endedAt ?? '') > bulk.createdAt;
      await cancelRun(store.runs, run, actor, (...args) => reconciliation.functions.cancelRun(...args));
      return true;
    }
    const own = createProjectStore(store, { project, isOperator: false });
    if (action === 'redrive') await acceptAgain.redrive(own, run, { version, actor });
    else await acceptAgain.replay(own, run, { version, actor, once: `${bulk.id}:${run.id}` });
    return true;
  }

  /** Returns the next page with runs, across the lists of the bulk action. */
  async function nextPage(bulk: BulkRecord, from: BulkPlace): Promise<BulkPage | null> {
    const lists = getRunFilters(bulk);
    for (let { list, cursor } = from; list < lists.length; list++, cursor = null) {
      const query = { ...lists[list], project: bulk.project, function: bulk.function, until: bulk.createdAt };
      const page = await store.runs.list({ ...query, limit: PAGE, ...(cursor !== null && { cursor }) });
      const next = page.nextCursor === null ? { list: list + 1, cursor: null } : { list, cursor: page.nextCursor };
      if (page.items.length > 0) return { pages: bulk.pages, runs: page.items.map(({ id }) => id), next };
    }
    return null;
  }

  return {
    /** Returns the next page, or the one a crashed worker left unfinished; null: the bulk action has ended. */
    async nextOfBulk({ bulkId }: { bulkId: string }): Promise<BulkPage | null> {
      for (;;) {
        const bulk = await mustGet(bulkId);
        if (bulk.page) return bulk.page;
        const page = bulk.state === 'running' ? await nextPage(bulk, bulk.place) : null;
        if (!page) {
          await store.bulks.end(bulkId, bulk.state === 'cancelling' ? 'cancelled' : 'succeeded', now());
          return null;
        }
        if (await store.bulks.begin(bulkId, page)) return page;
      }
    },

    /** @throws MayflyError a retryable failure; a retry acts on no run twice */
    async actOnBulk({ bulkId, runs }: { bulkId: string; runs: string[] }): Promise<BulkProgress> {
      const bulk = await mustGet(bulkId);
      const counts = { done: 0, unchanged: 0, refused: 0 };
      const refusals: BulkRefusal[] = [];
      const acts = runs.filter(isRunId).map(async (runId) => {
        try {
          counts[(await act(bulk, await store.runs.get(runId))) ? 'done' : 'unchanged'] += 1;
        } catch (error) {
          if (!(error instanceof MayflyError) || ERRORS[error.code].retryable) throw error;
          counts.refused += 1;
          refusals.push({ runId, failure: { code: error.code, message: error.message } });
        }
      });
      await Promise.all(acts);
      if (bulk.action !== 'cancel')
        await reconciliation.functions.ensureDispatcher({ project: bulk.project, name: bulk.function });
      return { counts, refusals };
    },

    /** Ends the bulk action with the current page. Idempotent. */
    async cancelBulk({ bulkId }: { bulkId: string }): Promise<void> {
      await store.bulks.cancel(bulkId, now());
    },

    async recordBulk({ bulkId, page, done }: { bulkId: string; page: BulkPage; done: BulkProgress }): Promise<void> {
      await store.bulks.advance(await mustGet(bulkId), page, done, now());
    },
  };
}

function now(): string {
  return new Date().toISOString();
}
