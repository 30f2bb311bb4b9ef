import type { Worker } from '@temporalio/worker';

/** Worker that polls its queue. */
export interface RunningWorker {
  /** Rejects when the worker fails; resolves when it was stopped. */
  ended: Promise<void>;
  /** Stops polling, and waits for running tasks within the worker's grace period. */
  stop(): Promise<void>;
  /** Starts the stop without waiting. */
  beginStop(): void;
}

/** Combines several workers: `ended` rejects with the first failure. */
export function runWorkers(workers: readonly Worker[]): RunningWorker {
  const running = workers.map(runWorker);
  const stop = async () => void (await Promise.all(running.map((one) => one.stop())));
  const beginStop = () => {
    for (const one of running) one.beginStop();
  };
  const ended = Promise.all(running.map((one) => one.ended)).then(() => undefined);
  ended.catch(() => undefined);
  return { ended, stop, beginStop };
}

export function runWorker(worker: Worker): RunningWorker {
  const ended = worker.run();
  ended.catch(() => undefined); // the awaiter of `ended` or `stop` handles the rejection
  const beginStop = () => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  return {
    ended,
    beginStop,
    async stop() {
      beginStop();
      await ended;
    },
  };
}
