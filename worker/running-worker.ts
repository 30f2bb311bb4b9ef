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
