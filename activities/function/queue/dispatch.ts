import type { FunctionRecord } from '../../../model/functions/function.ts';
import { steadyClock } from '../../../model/steady-clock.ts';
import type { FunctionRef } from '../../../store/functions/functions.ts';
import type { SagaDeps } from '../../step/saga-deps.ts';
import { Admission } from './admission.ts';

interface Dispatched {
  /** Key polled last; the next poll starts after it. */
  after: string;
  isEmpty: boolean;
  /** True when more runs may be admissible now. */
  isMore: boolean;
  /** Time until more may be admissible without a notification, ms; null: unknown. */
  waitMs?: number | null;
}

/** Limits of one call, to fit a local activity. */
const MAX_ADMITTED = 10;
const MAX_POLLED = 200;
/** Shortest pause between two calls, each of which costs a workflow task. Milliseconds. */
const LEAST_WAIT_MS = 50;

/** Activities of a dispatcher. Safe to run concurrently. */
export function createDispatchActivities(deps: SagaDeps) {
  const { store } = deps;
  const admission = new Admission(deps);

  /** @returns true when no run of the function may be admitted now */
  function isHeld(found: FunctionRecord | null, now: Date): boolean {
    if (!found) return false; // each run ends with a failure
    return found.state === 'paused' || (found.fullUntil !== null && Date.parse(found.fullUntil) > now.getTime());
  }

  return {
    /** Admits runs round-robin over keys, the first of each key first. */
    async admitRuns({ project, name, after }: FunctionRef & { after: string }): Promise<Dispatched> {
      const ref = { project, name };
      let [at, admitted, hasChanged, notBefore] = [after, 0, false, Number.POSITIVE_INFINITY];
      /** Keys that must wait; retried after each admission, since slots may be free by then. */
      const held = new Set<string>();
      /** Keys paused until an instant. Milliseconds since 1970. */
      const paused = new Map<string, number>();
      const done = (isMore: boolean, isEmpty = false): Dispatched => {
        const waitMs = Number.isFinite(notBefore) ? Math.max(LEAST_WAIT_MS, notBefore - steadyClock.now()) : null;
        return { after: at, isEmpty, isMore, waitMs };
      };
      const began = steadyClock.now();
      const record = await store.functions.get(ref);
      if (isHeld(record, steadyClock.date())) return done(false, (await store.runQueue.next(ref, '')) === null);
      for (let looked = 0; looked < MAX_POLLED && admitted < MAX_ADMITTED; looked++) {
        const found = await store.runQueue.next(ref, at);
        if (!found && at === '') return done(false, true);
        at = found?.key ?? '';
        if (!found) continue;
        if (held.has(at)) return done(false);
        if ((paused.get(at) ?? 0) > steadyClock.now()) {
          held.add(at);
          continue;
        }
        const result = await admission.look(found, record?.activeVersion ?? null, steadyClock.date());
        if ('notBefore' in result) {
          if (result.notBefore !== null) paused.set(at, result.notBefore);
          notBefore = Math.min(notBefore, result.notBefore ?? notBefore);
          if (result.is === 'all') return done(false);
          held.add(at);
          continue;
        }
        held.clear();
        hasChanged = true;
        if (result.is === 'admitted') admitted += 1;
      }
      if (hasChanged) return done(true);
      // All polled runs must wait, and there are more: the next call polls those, after as long as this one took.
      notBefore = Math.min(notBefore, 2 * steadyClock.now() - began);
      return done(false);
    },
  };
}
