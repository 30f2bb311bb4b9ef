import { MayflyError } from '../../model/errors.ts';
import { lastAttempt } from '../../model/functions/run.ts';
import { isRunId } from '../../model/ids.ts';
import { type AskedWaitpoint, newWaitpoint } from '../../model/waitpoints/waitpoint.ts';
import type { Store } from '../../store/connect.ts';

interface Deps {
  store: Pick<Store, 'runs' | 'waitpoints'>;
}

/** What a run is told of the guest of its attempt. */
export interface SeenWaits {
  runId: string;
  /** The sandbox of the attempt. */
  attemptId: string;
  /** All that its processes have asked for. */
  asked: AskedWaitpoint[];
  /** Names of those whose time is over. */
  due: string[];
}

/** Waitpoints of runs in the store. */
export function createWaitpointActivities({ store }: Deps) {
  return {
    /** Writes down what the processes of a run ask for, which of it they get no more, and whether the run waits. */
    async recordWaits({ runId, attemptId, asked, due }: SeenWaits): Promise<void> {
      if (!isRunId(runId)) throw new MayflyError('invalid_id', 'That is no run.');
      const run = await store.runs.get(runId);
      if (!run || lastAttempt(run)?.sandboxId !== attemptId) return;
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
    },
  };
}
