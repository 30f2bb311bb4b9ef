import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';

/** The store notifies nobody. Milliseconds. */
const LOOK_EVERY_MS = 200;

/** Looks again and again, in an activity, until there is something. */
export async function until<T>(look: () => Promise<T | null>): Promise<T> {
  const { cancellationSignal: signal, heartbeat } = Context.current();
  for (;;) {
    signal.throwIfAborted();
    const found = await look();
    if (found !== null) return found;
    heartbeat();
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}
