import type { Worker } from '@temporalio/worker';

/** A worker that polls its queue. */
export interface RunningWorker {
  /** Rejects when the worker fails; resolves when it was stopped. */
  ended: Promise<void>;
  /** Takes no more work, and lets what runs end within the worker's grace time. */
  stop(): Promise<void>;
  /** Begins to stop. */
  beginStop(): void;
}

/** Several as one: the first that fails ends them all. */
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
  ended.catch(() => undefined); // told to whoever awaits `ended` or `stop`
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
