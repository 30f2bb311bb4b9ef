import { setTimeout as sleep } from 'node:timers/promises';
import type { BulkRequest } from '../../../client/functions.ts';
import type { BulkAction } from '../../../client/http/openapi.ts';
import { patiently } from '../../../client/http/patient.ts';
import { connect } from '../../terminal/connection.ts';
import { EXIT } from '../../terminal/exit-codes.ts';
import type { Io } from '../../terminal/io.ts';
import { printable } from '../../terminal/printable.ts';

const LOOK_EVERY_MS = 500;
const DONE: Record<BulkAction['action'], string> = {
  replay: 'replayed',
  redrive: 'redriven',
  cancel: 'being cancelled',
};

/** Acts on many runs of a function, and waits until that is over. Ctrl-C lets it go on. @returns exit code */
export async function actOnAll(io: Io, name: string, wish: BulkRequest, isJson: boolean): Promise<number> {
  const { functions } = connect(io);
  const { signal } = io;
  let bulk = await functions.startBulk(name, { ...wish, signal });
  io.note(bulk.id);
  try {
    while (bulk.endedAt === null) {
      io.noteForNow(io.paint('dim', `  ${countsOf(bulk)} …`));
      await sleep(LOOK_EVERY_MS, undefined, { signal });
      const { id } = bulk;
      bulk = await patiently(() => functions.bulk(name, id, { signal }), { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    io.note(`${bulk.id} goes on`);
    return EXIT.interrupted;
  } finally {
    io.endNoteForNow();
  }
  if (isJson) io.printJson(bulk);
  else io.print(countsOf(bulk));
  for (const { runId, failure } of bulk.refusals) io.note(printable(`${runId}: ${failure.message} (${failure.code})`));
  return bulk.counts.refused === 0 && bulk.state === 'succeeded' ? EXIT.ok : EXIT.failed;
}

function countsOf({ action, counts: { done, refused } }: BulkAction): string {
  return `${done} ${DONE[action]}${refused > 0 ? `, ${refused} refused` : ''}`;
}
