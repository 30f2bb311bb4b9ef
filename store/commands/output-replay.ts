import type { OutputStream } from '../../model/sandbox/command.ts';
import { OUTPUT_CHUNK_BYTES, type OutputFrame } from '../../model/sandbox/output-frame.ts';
import type { Chunk, Output, OutputPosition } from './output.ts';

interface Run extends OutputFrame {
  position: number;
}

/**
 * Replays stored output from a position, as the guest sent it: both streams in their order, with the times, up to the
 * end of the stored part.
 */
export async function* replay(output: Output, commandId: string, from: OutputPosition): AsyncGenerator<OutputFrame> {
  const streams = [
    runs(output, commandId, 'stdout', from.stdout),
    runs(output, commandId, 'stderr', from.stderr),
  ] as const;
  let [out, err] = await Promise.all([next(streams[0]), next(streams[1])]);
  while (out || err) {
    if (out && (!err || out.position < err.position)) {
      yield out;
      out = await next(streams[0]);
    } else if (err) {
      yield err;
      err = await next(streams[1]);
    }
  }
}

async function next(stream: AsyncGenerator<Run>): Promise<Run | null> {
  const { value, done } = await stream.next();
  return done ? null : value;
}

async function* runs(output: Output, commandId: string, stream: OutputStream, from: number): AsyncGenerator<Run> {
  for (let n = Math.floor(from / OUTPUT_CHUNK_BYTES); ; n++) {
    const chunk = await output.chunk(commandId, stream, n);
    if (!chunk) return;
    yield* runsOf(chunk, stream, n * OUTPUT_CHUNK_BYTES, from);
    if (chunk.bytes.length < OUTPUT_CHUNK_BYTES) return;
  }
}

function* runsOf({ bytes, marks }: Chunk, stream: OutputStream, start: number, from: number): Generator<Run> {
  for (const [index, mark] of marks.entries()) {
    const end = marks[index + 1]?.offset ?? start + bytes.length;
    const skipped = Math.max(0, from - mark.offset);
    if (mark.offset + skipped >= end) continue;
    yield {
      stream,
      atMs: mark.atMs,
      position: mark.position + skipped,
      offset: mark.offset + skipped,
      bytes: bytes.subarray(mark.offset + skipped - start, end - start),
    };
  }
}
