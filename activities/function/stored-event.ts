import { MayflyError } from '../../model/errors.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import type { Store } from '../../store/connect.ts';
import { eventOfRun } from '../../store/functions/run-event.ts';

type Of = Pick<RunRecord, 'id' | 'eventDigest' | 'isBatch' | 'events'>;

/**
 * Returns the event of a run; of a batch, the array of its events.
 * @throws MayflyError function_gone: the event was deleted
 */
export async function loadEvent(stores: Pick<Store, 'runs' | 'runContents'>, run: Of): Promise<Uint8Array> {
  const event = await eventOfRun(stores, run);
  if (event) return event;
  throw new MayflyError('function_gone', `The event of ${run.id} is not there any more.`);
}
