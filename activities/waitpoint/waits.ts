import { MayflyError } from '../../model/errors.ts';
import type { FunctionSpec } from '../../model/functions/function.ts';
import { getLastAttempt } from '../../model/functions/run.ts';
import { isRunId } from '../../model/ids.ts';
import { DEFAULT_WAIT, getWaiting, updateWaiting } from '../../model/waitpoints/waiting.ts';
import { newWaitpoint, type WaitpointRequest } from '../../model/waitpoints/waitpoint.ts';
import type { Store } from '../../store/connect.ts';
import { acceptedSpec } from '../function/accepted-version.ts';

interface Deps {
  store: Pick<Store, 'runs' | 'waitpoints' | 'waitingRuns' | 'functionVersions'>;
}

interface ObservedWaitpoints {
  runId: string;
  attemptId: string;
  /** All waitpoints that its processes have registered. */
  asked: WaitpointRequest[];
  /** Names of expired waitpoints. */
  due: string[];
  /** True when its process waits for data. */
  isBlocked: boolean;
}

/** Time its process must still wait before its machine is hibernated, ms; null: never. */
interface RecordedWaits {
  restMs: number | null;
}

export function createWaitpointActivities({ store }: Deps) {
  return {
    /** Records registered and expired waitpoints of a run, and whether it waits. */
    async recordWaits({ runId, attemptId, asked, due, isBlocked }: ObservedWaitpoints): Promise<RecordedWaits> {
      if (!isRunId(runId)) throw new MayflyError('invalid_id', 'That is no run.');
      const run = await store.runs.get(runId);
      if (!run || getLastAttempt(run)?.sandboxId !== attemptId) return { restMs: null };
      const now = Date.now();
      const askedAt = new Date(now).toISOString();
      const present = new Map((await store.waitpoints.list(runId)).map((each) => [each.name, each]));
      for (const each of asked) {
        const found = present.get(each.name);
        if (found?.askedAt) continue;
        const { id, askedAt: at } = await store.waitpoints.ensure({ ...newWaitpoint(run, each, null, now), askedAt });
        if (at === null) await store.waitpoints.asked(id, askedAt);
      }
      for (const name of due) {
        const found = present.get(name);
        if (found) await store.waitpoints.expire(found.id);
      }
      const names = new Set(asked.map(({ name }) => name));
      const isWaiting = (await store.waitpoints.list(runId)).some(
        ({ name, state }) => state === 'open' && names.has(name),
      );
      await store.runs.change(runId, ['running'], { waitingFor: isWaiting ? 'waitpoint' : null });
      const before = getWaiting(run, attemptId);
      const waiting = updateWaiting(before, isBlocked && isWaiting, now);
      if (waiting.since !== before.since) await store.waitingRuns.record(runId, waiting, new Date(now).toISOString());
      return { restMs: waiting.since === null ? null : restMs(waiting.since, await acceptedSpec(store, run), now) };
    },
  };
}

function restMs(since: string, spec: FunctionSpec | null, now: number): number | null {
  const { hibernateAfterSeconds } = spec?.wait ?? DEFAULT_WAIT;
  if (hibernateAfterSeconds === null) return null;
  return Math.max(0, Date.parse(since) + hibernateAfterSeconds * 1_000 - now);
}
