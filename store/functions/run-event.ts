import type { RunRecord } from '../../model/functions/run.ts';
import type { RunContents } from './run-contents.ts';
import type { Runs } from './runs.ts';

interface Stores {
  runs: Runs;
  runContents: RunContents;
}
type Of = Pick<RunRecord, 'id' | 'eventDigest' | 'isBatch' | 'events'>;

/**
 * Returns the event of a run in the JSON format of CloudEvents, of a batch the list of its events; null when it was
 * removed.
 */
export async function eventOfRun(stores: Stores, run: Of): Promise<Uint8Array | null> {
  if (!run.isBatch)
    return (await stores.runs.eventOf(run.id)) ?? stores.runContents.get(run.id, `event/${run.eventDigest}`);
  const pieces: Uint8Array[] = [];
  for (const { runId } of run.events) {
    const member = await stores.runs.get(runId);
    const event = member && (await eventOfRun(stores, member));
    if (!event) return null;
    pieces.push(Buffer.from(pieces.length === 0 ? '[' : ','), event);
  }
  return Buffer.concat([...pieces, Buffer.from(']')]);
}
