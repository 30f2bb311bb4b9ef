import { createHash } from 'node:crypto';
import { MayflyError } from '../../model/errors.ts';
import { ContextReader } from '../../model/image/sent-context.ts';
import { LIMITS } from '../../model/limits.ts';
import { PIECE_BYTES, PIECES_ANNOUNCED } from '../../store/images/sent-contexts.ts';
import type { ProjectStore } from '../../store/project-store.ts';

const { sentContextBytes, sentContextsBytes } = LIMITS.image;

/** @throws MayflyError context_not_found */
export async function describeContext(store: ProjectStore, digest: string) {
  const found = await store.sentContexts.use(digest);
  if (!found) throw new MayflyError('context_not_found', `There is no context ${digest}.`);
  const { bytes, context, usedAt } = found;
  const expiresAt = new Date(usedAt.getTime() + LIMITS.image.sentContextHours * 3_600_000).toISOString();
  return { digest, bytes, entries: context.entries.length, expiresAt };
}

/**
 * Stores a context, unless it exists.
 * @param announced its length, bytes; 0: not known
 * @returns true when it is new
 * @throws MayflyError body_too_large, quota_exceeded, context_differs
 */
export async function receiveContext(
  store: ProjectStore,
  digest: string,
  body: ReadableStream<Uint8Array>,
  announced: number,
): Promise<boolean> {
  const known = await store.sentContexts.use(digest);
  if (known) await readToEnd(body);
  else await storeContext(store, digest, body, announced);
  return !known;
}

/** Stores a context, and removes it when it is incomplete or its digest differs. */
async function storeContext(
  store: ProjectStore,
  digest: string,
  body: ReadableStream<Uint8Array>,
  announced: number,
): Promise<void> {
  const room = await remainingBytes(store);
  assertContextSize(announced);
  assertQuota(announced, room);
  const id = await store.sentContexts.begin(digest);
  try {
    const reader = new ContextReader(() => {
      const hash = createHash('sha256');
      return { update: (bytes) => hash.update(bytes), hex: () => hash.digest('hex') };
    });
    const whole = createHash('sha256');
    let bytes = 0;
    let n = 0;
    for await (const piece of piecesOf(body)) {
      bytes += piece.length;
      assertContextSize(bytes);
      assertQuota(bytes, room);
      whole.update(piece);
      reader.push(piece);
      await store.sentContexts.put(id, n, piece);
      // Concurrent uploads may each have passed the first check.
      if (n++ % PIECES_ANNOUNCED === 0)
        assertQuota((await store.sentContexts.bytes()) - PIECES_ANNOUNCED * PIECE_BYTES, { ...room, left: room.most });
    }
    const context = reader.end();
    const actualDigest = whole.digest('hex');
    if (actualDigest !== digest)
      throw new MayflyError('context_differs', `What was sent is ${actualDigest}, not ${digest}.`);
    await store.sentContexts.complete(id, { context, bytes });
  } catch (error) {
    await store.sentContexts.remove(id);
    throw error;
  }
}

/**
 * Reads a body whose content exists already: an unread body would cost the client the response.
 * @throws MayflyError body_too_large
 */
async function readToEnd(body: ReadableStream<Uint8Array>): Promise<void> {
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    assertContextSize(bytes);
  }
}

/** Returns how much more a project may upload, bytes; its disk quota limits that too. */
async function remainingBytes(store: ProjectStore): Promise<{ left: number; most: number }> {
  const most = Math.min(sentContextsBytes, (await store.diskLimit()) ?? sentContextsBytes);
  return { left: most - (await store.sentContexts.bytes()), most };
}

/** @throws MayflyError body_too_large */
function assertContextSize(bytes: number): void {
  if (bytes <= sentContextBytes) return;
  throw new MayflyError('body_too_large', `A context has at most ${sentContextBytes} bytes.`);
}

/** @throws MayflyError quota_exceeded */
function assertQuota(bytes: number, { left, most }: { left: number; most: number }): void {
  if (bytes <= left) return;
  const why = `The project may have ${most} bytes of contexts at once; one that no build uses is forgotten after ${LIMITS.image.sentContextHours} hours.`;
  throw new MayflyError('quota_exceeded', why);
}

/** Yields pieces of PIECE_BYTES; the last may be shorter. */
async function* piecesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  let waiting = Buffer.alloc(0);
  for await (const chunk of body) {
    waiting = waiting.length === 0 ? Buffer.from(chunk) : Buffer.concat([waiting, chunk]);
    for (; waiting.length >= PIECE_BYTES; waiting = waiting.subarray(PIECE_BYTES))
      yield waiting.subarray(0, PIECE_BYTES);
  }
  if (waiting.length > 0) yield waiting;
}
