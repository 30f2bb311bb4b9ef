import type { Logger } from 'pino';
import { setIntervalAsync } from '../../host/os/repeating.ts';
import type { PeriodicTasks } from '../../store/periodic-tasks.ts';
import type { Closers } from '../config/closers.ts';

/** Work that a control worker repeats while it runs; its metric and its row in `mayfly doctor` bear its name. */
export interface PeriodicTask {
  name: string;
  /** Pause between two turns, ms. */
  everyMs: number;
  /** @param signal aborts when the worker stops */
  run: (signal: AbortSignal) => Promise<unknown>;
}

/** Report interval of a task with an unchanged outcome, ms. */
const REPORT_MS = 60_000;

/** Repeats each task until its closer runs. A failed turn is logged with the task's name, and the next one retries. */
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
      // An unavailable store cannot record this, and is reported elsewhere.
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
    closers.add(name, setIntervalAsync(turn, everyMs));
  }
}
