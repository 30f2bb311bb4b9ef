import type { Context } from 'hono';
import { type SSEMessage, streamSSE } from 'hono/streaming';
import type { StreamKind } from '../../services/streams/streams.ts';
import type { Env } from '../http/context.ts';

/** Interval of comments on a silent stream, ms, which keep proxies from closing it. */
const KEEP_ALIVE_MS = 15_000;

/** Sink of server-sent events to one client. */
export interface EventSink {
  send(event: SSEMessage): Promise<void>;
  /** @param text one line, which clients ignore */
  comment(text: string): Promise<void>;
  pause(ms: number): Promise<void>;
  /** Aborted when the client disconnects. */
  gone: AbortSignal;
}

/**
 * Answers with server-sent events, until all are sent or the client disconnects. Logs later errors: the status is sent
 * already, and the end of the stream makes the client reconnect with `Last-Event-ID`.
 * @throws MayflyError too_many_requests, project_quota_exceeded
 */
export async function answerEvents(
  c: Context<Env>,
  { kind, of }: { kind: StreamKind; of: Record<string, string> },
  sendAll: (sink: EventSink) => Promise<void>,
): Promise<Response> {
  const { streams, logger } = c.get('deps');
  const end = await streams.begin(c.var, kind);
  const gone = new AbortController();
  return streamSSE(c, async (stream) => {
    stream.onAbort(() => gone.abort());
    const over = streams.keys.endWithKey(c.var, () => stream.abort());
    let isSilent = false;
    const comment = async (text: string) => void (await stream.write(`: ${text}\n\n`));
    const keepAlive = setInterval(() => {
      if (isSilent) void comment('still here');
      isSilent = true;
    }, KEEP_ALIVE_MS);
    const send = async (event: SSEMessage) => {
      isSilent = false;
      await stream.writeSSE(event);
    };
    const pause = async (ms: number) => void (await stream.sleep(ms));
    try {
      await sendAll({ send, comment, pause, gone: gone.signal });
    } catch (error) {
      if (gone.signal.aborted) return;
      logger.warn({ err: error, ...of, requestId: c.get('requestId') }, 'an event stream broke');
    } finally {
      clearInterval(keepAlive);
      over();
      end();
    }
  });
}
