import type { PeriodicTaskState } from '../../store/periodic-tasks.ts';
import { type Check, fault, note, type Probe, passed } from './check.ts';
import type { ProbeContext } from './surroundings.ts';

/**
 * Age at which a task's last turn is too old; a task reports every minute or every interval, and may miss a few. ms.
 */
const LATE = { intervals: 3, leastMs: 300_000 };

/** Checks that no periodic task of the control workers failed last time, or is late. */
export function periodicTasksProbe(surroundings: ProbeContext): Probe {
  return {
    name: 'periodic tasks',
    remedy: 'First mend the store.',
    look: async () => judgeTasks(await (await surroundings.store()).periodicTasks.list(), Date.now()),
  };
}

export function judgeTasks(tasks: readonly PeriodicTaskState[], now: number): Check[] {
  const ill = tasks.flatMap(({ name, everyMs, endedAt, failure }): Check[] => {
    const task = `task ${name}`;
    if (failure)
      return [fault(task, `its last turn failed at ${endedAt}: ${failure}`, 'See the log of the control worker.')];
    if (now - Date.parse(endedAt) <= Math.max(LATE.leastMs, everyMs * LATE.intervals)) return [];
    return [
      note(
        task,
        `no turn has ended since ${endedAt}`,
        'Start a control worker: `mayfly up`, or `mayfly serve control`.',
      ),
    ];
  });
  return ill.length > 0 ? ill : [passed('periodic tasks', `each of ${tasks.length} goes on`)];
}
