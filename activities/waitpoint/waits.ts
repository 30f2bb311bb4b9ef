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
      for (const each of asked) {
        const { id, askedAt } = await store.waitpoints.ensure(newWaitpoint(run, each, null, now));
        if (askedAt === null) await store.waitpoints.asked(id, new Date(now).toISOString());
      }
      for (const { id, name } of await store.waitpoints.list(runId)) {
        if (due.includes(name)) await store.waitpoints.expire(id);
      }
      const names = new Set(asked.map(({ name }) => name));
      const isWaiting = (await store.waitpoints.list(runId)).some(
        ({ name, state }) => state === 'open' && names.has(name),
      );
      await store.runs.change(runId, ['running'], { waitingFor: isWaiting ? 'waitpoint' : null });
    },
  };
}
