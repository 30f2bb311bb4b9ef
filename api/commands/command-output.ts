import type { Context } from 'hono';
import type { CommandRecord, OutputStream } from '../../model/sandbox/command.ts';
import { OUTPUT_CHUNK_BYTES } from '../../model/sandbox/output-frame.ts';
import { tailOf } from '../../store/commands/output-tail.ts';
import type { ProjectStore } from '../../store/project-store.ts';
import type { Env, RequestDeps } from '../http/context.ts';

/** GET …/output: the bytes of one stream as they are stored now, chunk by chunk, so that none of it is held as a whole. */
export async function answerOutput(
  c: Context<Env>,
  { store }: RequestDeps,
  record: CommandRecord,
  {
    stream,
    offset = 0,
    limit = Number.MAX_SAFE_INTEGER,
  }: { stream: OutputStream; offset?: number | undefined; limit?: number | undefined },
): Promise<Response> {
  const hasEnded = record.state === 'ended';
  const stored = hasEnded ? record[stream].kept : (await tailOf(store.output, record.id))[stream].end;
  const end = Math.max(offset, Math.min(stored, offset + limit));
  const headers = {
    'Content-Type': 'application/octet-stream',
    'Content-Length': String(end - offset),
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    'X-Mayfly-Next-Offset': String(end),
    'X-Mayfly-Ended': String(hasEnded && end >= stored),
    'X-Mayfly-Truncated': String(record[stream].bytes > record[stream].kept),
  };
  return c.body(bytesOf(store, record.id, stream, { offset, end }), 200, headers);
}

function bytesOf(
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
