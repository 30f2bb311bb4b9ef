import type { BulkRequest } from '../../../clients/typescript/functions.ts';
import type { BulkAction } from '../../../clients/typescript/http/openapi.ts';
import { connect } from '../../terminal/connection.ts';
import { EXIT } from '../../terminal/exit-codes.ts';
import type { Io } from '../../terminal/io.ts';
import { printable } from '../../terminal/printable.ts';
import { followRecord } from '../../terminal/progress.ts';

const DONE: Record<BulkAction['action'], string> = {
  replay: 'replayed',
  redrive: 'redriven',
  cancel: 'being cancelled',
};

/** Acts on many runs of a function, and waits until that is over. Ctrl-C lets it go on. @returns exit code */
export async function actOnAll(io: Io, name: string, wish: BulkRequest, isJson: boolean): Promise<number> {
  const { functions } = connect(io);
  const { signal } = io;
  const begun = await functions.startBulk(name, { ...wish, signal });
  io.note(begun.id);
  const bulk = await followRecord(begun, {
    show: (now) => io.noteForNow(io.paint('dim', `  ${countsOf(now)} …`)),
    isOver: ({ endedAt }) => endedAt !== null,
    read: ({ id }) => functions.bulk(name, id, { signal }),
    signal,
  }).finally(() => io.endNoteForNow());
  if (bulk.endedAt === null) {
    io.note(`${bulk.id} goes on`);
    return EXIT.interrupted;
  }
  if (isJson) io.printJson(bulk);
  else io.print(countsOf(bulk));
  for (const { runId, failure } of bulk.refusals) io.note(printable(`${runId}: ${failure.message} (${failure.code})`));
  return bulk.counts.refused === 0 && bulk.state === 'succeeded' ? EXIT.ok : EXIT.failed;
}

function countsOf({ action, counts: { done, refused } }: BulkAction): string {
  return `${done} ${DONE[action]}${refused > 0 ? `, ${refused} refused` : ''}`;
}
