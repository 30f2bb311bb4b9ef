import type { FunctionRecord } from '../../../model/functions/function.ts';
import { steadyClock } from '../../../model/steady-clock.ts';
import type { FunctionRef } from '../../../store/functions/functions.ts';
import type { SagaDeps } from '../../step/saga-deps.ts';
import { Admission } from './admission.ts';

interface Dispatched {
  /** The key that was looked at last: the one after it is next. */
  after: string;
  isEmpty: boolean;
  /** Whether there may be more that can be admitted now. */
  isMore: boolean;
  /** When there may be, whatever anybody tells. Milliseconds; null: nobody knows. */
  waitMs?: number | null;
}

/** Of one look: as brief as a local activity has to be. */
const ADMITTED = 10;
const LOOKED_AT = 200;
/** A look costs a workflow task, so two are so far apart. Milliseconds. */
const LEAST_WAIT_MS = 50;

/** What a dispatcher asks of the store. Any number of them may do so at once. */
export function createDispatchActivities(deps: SagaDeps) {
  const { store } = deps;
  const admission = new Admission(deps);

  /** @returns whether none of the function is to be admitted now */
  function isHeld(found: FunctionRecord | null, now: Date): boolean {
    if (!found) return false; // each ends, and says so
    return found.state === 'paused' || (found.fullUntil !== null && Date.parse(found.fullUntil) > now.getTime());
  }

  return {
    /** Admits what may be: one of each key after another, and the first of each key first. */
    async admitRuns({ project, name, after }: FunctionRef & { after: string }): Promise<Dispatched> {
      const ref = { project, name };
      let [at, admitted, hasChanged, notBefore] = [after, 0, false, Number.POSITIVE_INFINITY];
      /** Keys that have to wait, since one was admitted: each is looked at once a round, for what was given back meanwhile. */
      const held = new Set<string>();
      /** Keys of which none is looked at before an instant. Milliseconds since 1970. */
      const paused = new Map<string, number>();
      const done = (isMore: boolean, isEmpty = false): Dispatched => {
        const waitMs = Number.isFinite(notBefore) ? Math.max(LEAST_WAIT_MS, notBefore - steadyClock.now()) : null;
        return { after: at, isEmpty, isMore, waitMs };
      };
      const began = steadyClock.now();
      const record = await store.functions.get(ref);
      if (isHeld(record, steadyClock.date())) return done(false, (await store.runQueue.next(ref, '')) === null);
      for (let looked = 0; looked < LOOKED_AT && admitted < ADMITTED; looked++) {
        const found = await store.runQueue.next(ref, at);
        if (!found && at === '') return done(false, true);
        at = found?.key ?? '';
        if (!found) continue;
        if (held.has(at)) return done(false);
        if ((paused.get(at) ?? 0) > steadyClock.now()) {
          held.add(at);
          continue;
        }
        const look = await admission.look(found, record?.activeVersion ?? null, steadyClock.date());
        if ('notBefore' in look) {
          if (look.notBefore !== null) paused.set(at, look.notBefore);
          notBefore = Math.min(notBefore, look.notBefore ?? notBefore);
          if (look.is === 'all') return done(false);
          held.add(at);
          continue;
        }
        held.clear();
        hasChanged = true;
        if (look.is === 'admitted') admitted += 1;
      }
      if (hasChanged) return done(true);
      // All that one look sees have to wait, and there are more: the next sees those, after as long as this one took.
      notBefore = Math.min(notBefore, 2 * steadyClock.now() - began);
      return done(false);
    },
  };
}
