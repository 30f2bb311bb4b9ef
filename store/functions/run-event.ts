import type { RunRecord } from '../../model/functions/run.ts';
import type { RunContents } from './run-contents.ts';
import type { Runs } from './runs.ts';

/** The event of a run in the JSON format of CloudEvents, wherever it is kept; null: it is not there any more. */
export async function eventOfRun(
  { runs, runContents }: { runs: Runs; runContents: RunContents },
  { id, eventDigest }: Pick<RunRecord, 'id' | 'eventDigest'>,
): Promise<Uint8Array | null> {
  return (await runs.eventOf(id)) ?? runContents.get(id, `event/${eventDigest}`);
}
