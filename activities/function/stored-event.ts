import { MayflyError } from '../../model/errors.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import type { Store } from '../../store/connect.ts';
import { eventOfRun } from '../../store/functions/run-event.ts';

/** The event of a run, wherever it is kept. @throws MayflyError function_gone: it is not there any more */
export async function storedEvent(
  stores: Pick<Store, 'runs' | 'runContents'>,
  run: Pick<RunRecord, 'id' | 'eventDigest'>,
): Promise<Uint8Array> {
  const event = await eventOfRun(stores, run);
  if (event) return event;
  throw new MayflyError('function_gone', `The event of ${run.id} is not there any more.`);
}
