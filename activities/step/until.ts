import { Context } from '@temporalio/activity';
import { pause } from '../../host/os/abort.ts';

/** Pause between polls of the store, which sends no notifications: a share of the time waited so far. Milliseconds. */
const PAUSE = { leastMs: 20, mostMs: 200, share: 0.1 };

/** Polls in an activity until there is a result. */
export async function pollUntil<T>(poll: () => Promise<T | null>, event?: Promise<unknown>): Promise<T> {
  const { cancellationSignal: signal, heartbeat } = Context.current();
  let isNotified = event === undefined;
  const notify = () => {
    isNotified = true;
  };
  const notified = event?.then(notify, notify);
  const began = performance.now();
  for (;;) {
    signal.throwIfAborted();
    const found = await poll();
    if (found !== null) return found;
    heartbeat();
    const pauseMs = Math.min(PAUSE.mostMs, Math.max(PAUSE.leastMs, (performance.now() - began) * PAUSE.share));
    const waited = pause(pauseMs, signal);
    await (isNotified ? waited : Promise.race([waited, notified]));
  }
}
