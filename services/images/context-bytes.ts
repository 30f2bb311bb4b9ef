import type { ContextEntry } from '../../model/dockerfile/context.ts';
import { MayflyError } from '../../model/errors.ts';
import { describedContext, type SentContext } from '../../model/image/sent-context.ts';
import type { ServiceDeps } from '../service-deps.ts';

/** So many bytes of a context, from a place in its archive on. */
export type ReadContext = (from: number, length: number) => AsyncIterable<Uint8Array>;

/** A context, and how its bytes are read. */
interface ReadableContext {
  context: SentContext | null;
  read: ReadContext;
}

/** One that stands in the request. @throws MayflyError invalid_request, body_too_large */
export function contextWithin(archive: Uint8Array | null): ReadableContext {
  return {
    context: archive && describedContext(archive),
    async *read(from, length) {
      if (archive) yield archive.subarray(from, from + length);
    },
  };
}

/** One that was sent before. @throws MayflyError context_not_found */
export async function contextSent({ sentContexts }: ServiceDeps['store'], digest: string): Promise<ReadableContext> {
  const found = await sentContexts.use(digest);
  if (found) return { context: found.context, read: (from, length) => sentContexts.read(found.id, from, length) };
  throw new MayflyError('context_not_found', `There is no context ${digest}.`);
}

/** Of a file in it. @param most of its bytes, from the first on */
export async function bytesOf(read: ReadContext, { at = 0, size }: ContextEntry, most: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  const length = Math.min(size, most);
  if (length > 0) for await (const piece of read(at, length)) pieces.push(piece);
  return Buffer.concat(pieces);
}
