import { MayflyApiError } from '../../../clients/typescript/http/api-error.ts';
import type { Run } from '../../../clients/typescript/http/openapi.ts';
import type { Runs } from '../../../clients/typescript/runs.ts';
import type { Io } from '../../terminal/io.ts';

/** What is shown of it. Bytes. */
const TAIL = 4_096;

/** Prints the end of what the process of a run wrote to its standard error, to ours; of one that was never started nothing. */
export async function tellEndOfStderr(io: Io, runs: Runs, { id, attempts }: Run): Promise<void> {
  if (attempts.length === 0) return;
  const found = await runs.output(id, { stream: 'stderr', signal: io.signal }).catch((error: unknown) => {
    if (error instanceof MayflyApiError && error.code === 'command_not_found') return null;
    throw error;
  });
  if (!found) return;
  let tail: Uint8Array = new Uint8Array();
  let isCut = false;
  for await (const piece of found.bytes) {
    const whole = Buffer.concat([tail, piece]);
    isCut ||= whole.length > TAIL;
    tail = whole.subarray(-TAIL);
  }
  if (isCut) io.note(`… all of it: mayfly function logs ${id} --stderr`);
  if (tail.length === 0) return;
  await io.write('stderr', tail);
  if (tail.at(-1) !== 0x0a) io.note('');
}
