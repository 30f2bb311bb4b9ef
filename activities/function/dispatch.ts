import type { FunctionRecord } from '../../model/functions/function.ts';
import type { RunOutcome, RunRecord } from '../../model/functions/run.ts';
import type { Reconciliation } from '../../sagas/reconciliation.ts';
import type { Store } from '../../store/connect.ts';
import type { FunctionRef } from '../../store/functions/functions.ts';
import { acceptedSpec, goneVersion } from './accepted-version.ts';
import { beginRun } from './begin-run.ts';

interface Deps {
  store: Store;
  reconciliation: Reconciliation;
}

/** What a look at a queue came to. */
export interface Dispatched {
  /** The key that was looked at last: the one after it is next. */
  after: string;
  /** Whether nothing is queued. */
  isEmpty: boolean;
  /** Whether there may be more that can be admitted now. */
  isMore: boolean;
}

/** Of one look: as brief as a local activity has to be. */
const ADMITTED = 10;
const LOOKED_AT = 200;

/** What a dispatcher asks of the store. Any number of them may do so at once. */
export function createDispatchActivities({ store, reconciliation }: Deps) {
  /** It ends before it has begun. */
  async function end(run: RunRecord, outcome: RunOutcome, failure: RunRecord['failure']): Promise<void> {
    const at = new Date().toISOString();
    const ended = { outcome, failure, endedAt: at, updatedAt: at };
    await store.runs.end(run.id, ['delayed', 'queued'], ended, run.retentionDays);
  }

  /** @returns whether its key, or all of the function, has to wait; null: it does not */
  async function admit(run: RunRecord, now: Date): Promise<'key' | 'all' | null> {
    if (Date.parse(run.expiresAt) <= now.getTime()) {
      await end(run, 'expired', null);
      return null;
    }
    const spec = await acceptedSpec(store, run);
    if (!spec) {
      const { code, message } = goneVersion(run);
      await end(run, 'not-started', { code, message });
      return null;
    }
    const full = await store.runQueue.admit(run, spec.concurrency, now.toISOString());
    if (!full) {
      await begin(run);
      return null;
    }
    if (full.onFull === 'skip') {
      await end(run, 'skipped', null);
      return null;
    }
    if (run.waitingFor !== 'concurrency') await store.runs.change(run.id, ['queued'], { waitingFor: 'concurrency' });
    return full.isOfAll ? 'all' : 'key';
  }

  async function begin(run: RunRecord): Promise<void> {
    await store.audit.record(run.id, {
      eventId: `${run.id}/admitted/${run.tries}`,
      kind: 'run.admitted',
      actor: run.createdBy,
      runId: null,
      hostId: null,
      at: new Date().toISOString(),
      detail: { function: run.function, version: run.version, eventDigest: run.eventDigest },
    });
    await beginRun({ store, reconciliation }, run);
  }

  /** @returns whether none of the function is to be admitted now */
  function isHeld(found: FunctionRecord | null, now: Date): boolean {
    if (!found) return false; // each ends, and says so
    return found.state === 'paused' || (found.fullUntil !== null && Date.parse(found.fullUntil) > now.getTime());
  }

  return {
    /** Admits what may be: one of each key after another, and the first of each key first. */
    async admitRuns({ project, name, after }: FunctionRef & { after: string }): Promise<Dispatched> {
      const ref = { project, name };
      let [at, admitted] = [after, 0];
      /** Keys that have to wait, and those of them that were met since one was admitted. */
      const [waiting, met] = [new Set<string>(), new Set<string>()];
      const done = (isMore: boolean, isEmpty = false) => ({ after: at, isEmpty, isMore });
      if (isHeld(await store.functions.get(ref), new Date())) {
        return done(false, (await store.runQueue.next(ref, '')) === null);
      }
      for (let looked = 0; looked < LOOKED_AT && admitted < ADMITTED; looked++) {
        const found = await store.runQueue.next(ref, at);
        if (!found && at === '') return done(false, waiting.size === 0);
        at = found?.key ?? '';
        if (!found) continue;
        if (met.has(at)) return done(false);
        const held = waiting.has(at) ? 'key' : await admit(found.run, new Date());
        if (held === 'all') return done(false);
        if (held === 'key') [waiting, met].forEach((each) => void each.add(at));
        else {
          met.clear();
          admitted += 1;
        }
      }
      return done(true);
    },
  };
}

export type DispatchActivities = ReturnType<typeof createDispatchActivities>;
