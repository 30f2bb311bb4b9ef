import type { Context } from 'hono';
import type { CommandRecord, OutputStream } from '../../model/sandbox/command.ts';
import { readOutput } from '../../services/commands/read-output.ts';
import { tailOf } from '../../store/commands/output-tail.ts';
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
  return c.body(readOutput(store, record.id, stream, { offset, end }), 200, headers);
}
