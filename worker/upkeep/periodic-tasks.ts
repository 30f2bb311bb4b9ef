import type { Logger } from 'pino';
import { repeating } from '../../host/os/repeating.ts';
import type { Closers } from '../config/closers.ts';

/** Work that a control worker repeats for as long as it runs. */
export interface PeriodicTask {
  name: string;
  /** From the end of one turn to the beginning of the next. Milliseconds. */
  everyMs: number;
  /** @param signal aborts when the worker stops */
  run: (signal: AbortSignal) => Promise<unknown>;
}

/** Repeats each task until its closer runs. A turn that fails is logged with the task's name, and the next one tries again. */
export function startPeriodicTasks(tasks: readonly PeriodicTask[], closers: Closers, logger: Logger): void {
  for (const { name, everyMs, run } of tasks) {
    const turn = async (signal: AbortSignal) => {
      try {
        await run(signal);
      } catch (error) {
        if (!signal.aborted) logger.warn({ err: error, task: name, retryMs: everyMs }, 'periodic task failed');
      }
    };
    closers.add(name, repeating(turn, everyMs));
  }
}
