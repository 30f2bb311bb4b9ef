import type { OutputStream } from '../../model/sandbox/command.ts';
import { OUTPUT_CHUNK_BYTES } from '../../model/sandbox/output-frame.ts';
import type { Output, OutputPosition } from './output.ts';
import type { Mark } from './output-marks.ts';

/** Stored end of one stream. */
export interface StreamTail {
  /** Stored length, bytes. */
  end: number;
  /** Last chunk, which may not be full: its bytes and marks. */
  bytes: Uint8Array;
  marks: Mark[];
}

/** Position from which writing continues after an interruption at any moment. */
export interface OutputTail {
  /**
   * Position from which the guest is read: before the first byte that is missing in either stream. One stream may be
   * ahead of the other, since they are written one after the other, so some of the following is already stored.
   */
  place: OutputPosition;
  stdout: StreamTail;
  stderr: StreamTail;
}

const EMPTY_TAIL: StreamTail = { end: 0, bytes: new Uint8Array(), marks: [] };
/** Tail of a command without stored output. */
export const NO_TAIL: OutputTail = { place: { stdout: 0, stderr: 0 }, stdout: EMPTY_TAIL, stderr: EMPTY_TAIL };

export async function getTail(output: Output, commandId: string): Promise<OutputTail> {
  const [stdout, stderr] = await Promise.all([
    streamTail(output, commandId, 'stdout'),
    streamTail(output, commandId, 'stderr'),
  ]);
  const place = {
    stdout: await endBefore(output, commandId, 'stdout', stdout, stderr.end),
    stderr: await endBefore(output, commandId, 'stderr', stderr, stdout.end),
  };
  return { place, stdout, stderr };
}

async function streamTail(output: Output, commandId: string, stream: OutputStream): Promise<StreamTail> {
  const last = await output.last(commandId, stream);
  if (!last) return EMPTY_TAIL;
  const { bytes, marks } = last.chunk;
  return { end: last.n * OUTPUT_CHUNK_BYTES + bytes.length, bytes, marks };
}

/**
 * Returns the offset where a stream gets ahead: its first byte that came after more of the other stream than is stored.
 */
async function endBefore(
  output: Output,
  commandId: string,
  stream: OutputStream,
  tail: StreamTail,
  otherEnd: number,
): Promise<number> {
  let end = tail.end;
  let marks = tail.marks;
  for (let n = Math.ceil(tail.end / OUTPUT_CHUNK_BYTES) - 1; n >= 0; n--) {
    const first = marks.find(({ position, offset }) => position - offset > otherEnd);
    if (!first) return end;
    end = first.offset;
    if (first !== marks[0] || n === 0) return end;
    marks = (await output.chunk(commandId, stream, n - 1))?.marks ?? [];
  }
  return end;
}
