import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';

/** The store notifies nobody. Milliseconds. */
const LOOK_EVERY_MS = 200;

/**
 * Looks again and again, in an activity, until there is something.
 * @param event at which it is looked for at once; that it fails means only that nothing tells of it
 */
export async function until<T>(look: () => Promise<T | null>, event?: Promise<unknown>): Promise<T> {
  const { cancellationSignal: signal, heartbeat } = Context.current();
  let isTold = event === undefined;
  const tell = () => {
    isTold = true;
  };
  const told = event?.then(tell, tell);
  for (;;) {
    signal.throwIfAborted();
    const found = await look();
    if (found !== null) return found;
    heartbeat();
    const pause = sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
    await (isTold ? pause : Promise.race([pause, told]));
  }
}
