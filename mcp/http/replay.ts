import { setTimeout as sleep } from 'node:timers/promises';
import type { McpEvent, McpEvents } from '../../store/mcp/mcp-events.ts';
import { HEARTBEAT_MS, isAnswer, STORE_DELAY_MS } from './stream-events.ts';

/** Poll interval of the store for events of another process, ms. */
const POLL_MS = STORE_DELAY_MS + 50;
/** Silence after which a process has lost the request, ms. */
const DEAD_AFTER_MS = 5 * HEARTBEAT_MS;
/** Interval between comments that keep the connection alive, ms. */
const KEEPALIVE_MS = 10_000;
/** `<stream>.<place>`, as stream-events.ts makes them. */
const EVENT_ID = /^([0-9a-f-]{36})\.(\d{1,9})$/;

/**
 * Replays the rest of a broken stream after an event: stored events, then new ones until the answer.
 * @returns null when the session has no such stream
 */
export async function replayStream(
  events: McpEvents,
  sessionId: string,
  lastEventId: string,
  signal: AbortSignal,
): Promise<Response | null> {
  const [, streamId = '', place = ''] = EVENT_ID.exec(lastEventId) ?? [];
  const isThere = async () => streamId !== '' && (await events.get(sessionId, streamId, 0)) !== null;
  if (!(await isThere()) && !(await sleep(POLL_MS).then(isThere))) return null;
  const encoder = new TextEncoder();
  const rest = restOf(events, { sessionId, streamId, place: Number(place) }, signal);
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await rest.next().catch((error: unknown) => controller.error(error));
      if (next?.done) controller.close();
      else if (next) controller.enqueue(encoder.encode(next.value));
    },
    async cancel() {
      await rest.return();
    },
  });
  const headers = {
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-cache, no-transform',
    'Mcp-Session-Id': sessionId,
  };
  return new Response(body, { headers });
}

async function* restOf(
  events: McpEvents,
  after: Pick<McpEvent, 'sessionId' | 'streamId' | 'place'>,
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const { sessionId, streamId } = after;
  let place = after.place + 1;
  let saidAt = Date.now();
  while (!signal.aborted) {
    const event = await events.get(sessionId, streamId, place);
    if (event) {
      yield `event: message\nid: ${streamId}.${place}\ndata: ${JSON.stringify(event.message)}\n\n`;
      if (isAnswer(event.message)) return;
      place += 1;
      continue;
    }
    const begun = await events.get(sessionId, streamId, 0);
    if (!begun || Date.now() - Date.parse(begun.at) > DEAD_AFTER_MS) {
      if (await events.get(sessionId, streamId, place)) continue;
      yield `event: message\ndata: ${JSON.stringify(lostRequestError(begun?.message))}\n\n`;
      return;
    }
    if (Date.now() - saidAt > KEEPALIVE_MS) {
      saidAt = Date.now();
      yield ': keepalive\n\n';
    }
    await sleep(POLL_MS, undefined, { signal }).catch(() => {});
  }
}

/** Answers for a process that has died with the request. */
function lostRequestError(requestId: unknown) {
  const message = 'The API was stopped during this call. Send it again: with the same idempotencyKey it is done once.';
  return { jsonrpc: '2.0', id: requestId ?? null, error: { code: -32_603, message } };
}
