import type { ApiKey } from '../../model/access/api-key.ts';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { ServiceDeps } from '../service-deps.ts';

const KINDS = {
  sandboxes: LIMITS.streams.ofSandboxes,
  approvals: LIMITS.streams.ofApprovals,
  runs: LIMITS.streams.ofRuns,
  commands: LIMITS.streams.ofCommands,
} as const;
export type StreamKind = keyof typeof KINDS;

interface Held {
  kind: StreamKind;
  apiKeyId: string;
  project: string;
}

/**
 * The event streams of one process. Nobody gets all: a key may open another one while it holds fewer of that kind than are
 * free, and where there are several projects, a project too (Choudhury and Hahne, "Dynamic queue length thresholds", 1998).
 * So whoever comes later finds one free.
 */
export class Streams {
  readonly #open = new Set<Held>();
  readonly keys = new KeyWatch();

  /** How many of a kind are open. */
  count(kind: StreamKind): number {
    return this.#of((one) => one.kind === kind).length;
  }

  /**
   * @returns to be called when it is over
   * @throws MayflyError too_many_requests, project_quota_exceeded
   */
  async begin({ apiKey, deps }: Caller, kind: StreamKind): Promise<() => void> {
    const { id: apiKeyId, project } = apiKey;
    const { limit, isAlone } = await deps.store.streamShare();
    const ofProject = this.#of((one) => one.project === project);
    if (limit !== null && ofProject.length >= limit) {
      const message = `The project ${project} may have ${limit} event streams open at once, and has ${ofProject.length}.`;
      throw new MayflyError('project_quota_exceeded', message);
    }
    const free = KINDS[kind] - this.count(kind);
    const shares = [
      { holder: `The API key ${apiKeyId}`, held: this.#of((one) => one.kind === kind && one.apiKeyId === apiKeyId) },
      ...(isAlone ? [] : [{ holder: `The project ${project}`, held: ofProject.filter((one) => one.kind === kind) }]),
    ];
    for (const { holder, held } of shares) {
      if (held.length < free) continue;
      const message = `${holder} has ${held.length} event streams of ${kind} open; ${free} are left for all.`;
      throw new MayflyError('too_many_requests', message);
    }
    const stream: Held = { kind, apiKeyId, project };
    this.#open.add(stream);
    return () => this.#open.delete(stream);
  }

  #of(isMeant: (one: Held) => boolean): Held[] {
    return [...this.#open].filter(isMeant);
  }
}

/**
 * Pieces as the body of an answer. The first is awaited, so that what fails before it can still be told as a problem;
 * whoever goes away ends them, and what they clean up at their end is cleaned up.
 * @throws what the first piece throws
 */
export async function heldStream(
  pieces: AsyncGenerator<Uint8Array, void, undefined>,
): Promise<ReadableStream<Uint8Array>> {
  let held: IteratorResult<Uint8Array, void> | null = await pieces.next();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = held ?? (await pieces.next());
        held = null;
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await pieces.return();
      },
    },
    { highWaterMark: 0 },
  );
}

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
