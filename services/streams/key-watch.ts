import type { ApiKey } from '../../model/access/api-key.ts';
import type { ServiceDeps } from '../service-deps.ts';

/** How often the keys of open streams are looked up. Milliseconds. */
const POLL_MS = 1_000;

/** API key of a request, and the store as its project sees it. */
export interface Caller {
  apiKey: Pick<ApiKey, 'id' | 'project'>;
  deps: Pick<ServiceDeps, 'store'>;
}

/** Ends streams whose API key is revoked. One look a second for each key, however many streams it has. */
export class KeyWatch {
  readonly #watched = new Map<string, { ends: Set<() => void>; timer: NodeJS.Timeout }>();

  /** @param end is called once the key of the request is revoked @returns to be called when the stream is over */
  endWithKey({ apiKey: { id }, deps }: Caller, end: () => void): () => void {
    const { apiKeys } = deps.store;
    const watched = this.#watched.get(id) ?? {
      ends: new Set(),
      timer: setInterval(() => {
        // With the store away nobody can tell: streams go on, and nothing new is let in.
        apiKeys.get(id).then(
          (key) => key?.revokedAt === null || this.#endAll(id),
          () => undefined,
        );
      }, POLL_MS).unref(),
    };
    this.#watched.set(id, watched);
    watched.ends.add(end);
    return () => {
      watched.ends.delete(end);
      if (watched.ends.size > 0 || this.#watched.get(id) !== watched) return;
      clearInterval(watched.timer);
      this.#watched.delete(id);
    };
  }

  /** Cuts an answer that is a stream once the key of its request is revoked. */
  cutWithKey(caller: Caller, response: Response): Response {
    if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
    const cut = new AbortController();
    const over = this.endWithKey(caller, () => cut.abort());
    const { readable, writable } = new TransformStream<Uint8Array>();
    // the client, or the session, is told by its own end
    void response.body.pipeTo(writable, { signal: cut.signal }).then(over, over);
    return new Response(readable, response);
  }

  #endAll(id: string): void {
    for (const end of this.#watched.get(id)?.ends ?? []) end();
  }
}
