import { MayflyError } from '../../model/errors.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import type { Store } from '../../store/connect.ts';

/** The event of a run, wherever it is kept. @throws MayflyError function_gone: it is not there any more */
export async function storedEvent(
  { runs, runContents }: Pick<Store, 'runs' | 'runContents'>,
  { id, eventDigest }: Pick<RunRecord, 'id' | 'eventDigest'>,
): Promise<Uint8Array> {
  const event = (await runs.eventOf(id)) ?? (await runContents.get(id, `event/${eventDigest}`));
  if (event) return event;
  throw new MayflyError('function_gone', `The event of ${id} is not there any more.`);
}
