import type { OutputStream } from '../../model/sandbox/command.ts';
import { OUTPUT_CHUNK_BYTES } from '../../model/sandbox/output-frame.ts';
import type { ProjectStore } from '../../store/project-store.ts';

/** Reads a range of one stream as it is stored, chunk by chunk, so that none of it is held as a whole. */
export function readOutput(
  store: ProjectStore,
  commandId: string,
  stream: OutputStream,
  range: { offset: number; end: number },
): ReadableStream<Uint8Array> {
  let at = range.offset;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // Up to the end of a chunk, so that each is read once.
        const length = Math.min(range.end - at, OUTPUT_CHUNK_BYTES - (at % OUTPUT_CHUNK_BYTES));
        if (length === 0) return controller.close();
        const piece = await store.output.read(commandId, stream, at, length);
        if (piece.length === 0) return controller.error(new Error(`the store has no byte ${at} of ${commandId}`));
        at += piece.length;
        controller.enqueue(piece);
      },
    },
    { highWaterMark: 0 },
  );
}
