import type { Logger } from 'pino';
import { repeating } from '../../host/os/repeating.ts';
import type { PeriodicTasks } from '../../store/periodic-tasks.ts';
import type { Closers } from '../config/closers.ts';

/** Work that a control worker repeats for as long as it runs; its metric and its row in `mayfly doctor` bear its name. */
export interface PeriodicTask {
  name: string;
  /** From the end of one turn to the beginning of the next. Milliseconds. */
  everyMs: number;
  /** @param signal aborts when the worker stops */
  run: (signal: AbortSignal) => Promise<unknown>;
}

/** Interval at which a task that goes on as before is reported again, ms. */
const REPORT_MS = 60_000;

/** Repeats each task until its closer runs. A turn that fails is logged with the task's name, and the next one tries again. */
export function startPeriodicTasks(
  tasks: readonly PeriodicTask[],
  states: Pick<PeriodicTasks, 'report'>,
  closers: Closers,
  logger: Logger,
): void {
  for (const { name, everyMs, run } of tasks) {
    let reported = { failure: '', at: -Infinity };
    const report = async (failure: string) => {
      const now = performance.now();
      if (failure === reported.failure && now - reported.at < REPORT_MS) return;
      reported = { failure, at: now };
      // A store that is away says by itself that nothing of this is known.
      await states.report({ name, everyMs, endedAt: new Date().toISOString(), failure }).catch(() => undefined);
    };
    const turn = async (signal: AbortSignal) => {
      try {
        await run(signal);
        await report('');
      } catch (error) {
        if (signal.aborted) return;
        logger.warn({ err: error, task: name, retryMs: everyMs }, 'periodic task failed');
        await report(error instanceof Error ? error.message : String(error));
      }
    };
    closers.add(name, repeating(turn, everyMs));
  }
}
