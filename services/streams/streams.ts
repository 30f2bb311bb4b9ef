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

interface OpenStream {
  kind: StreamKind;
  apiKeyId: string;
  project: string;
}

/**
 * Event streams of one process. A key may open another one while it holds fewer of that kind than are free; with
 * several projects, so may a project (Choudhury and Hahne, "Dynamic queue length thresholds", 1998). So latecomers
 * always find a free one.
 */
export class Streams {
  readonly #open = new Set<OpenStream>();
  readonly keys = new KeyWatch();

  /** Returns the number of open streams of a kind. */
  count(kind: StreamKind): number {
    return this.#of((one) => one.kind === kind).length;
  }

  /**
   * @returns a function to call when the stream ends
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
    const stream: OpenStream = { kind, apiKeyId, project };
    this.#open.add(stream);
    return () => this.#open.delete(stream);
  }

  #of(isMeant: (one: OpenStream) => boolean): OpenStream[] {
    return [...this.#open].filter(isMeant);
  }
}

/**
 * Returns pieces as a response body. Awaits the first, so that an early error can still become a problem. A client's
 * disconnect ends the generator, with its cleanup.
 * @throws errors of the first piece
 */
export async function primedStream(
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

/** Poll interval of the keys of open streams, ms. */
const POLL_MS = 1_000;

/** API key of a request, and its project's store. */
export interface Caller {
  apiKey: Pick<ApiKey, 'id' | 'project'>;
  deps: Pick<ServiceDeps, 'store'>;
}

/** Watch that ends streams whose API key is revoked. Polls each key once a second, for all of its streams. */
export class KeyWatch {
  readonly #watched = new Map<string, { ends: Set<() => void>; timer: NodeJS.Timeout }>();

  /** @param end called once the key of the request is revoked @returns a function to call when the stream ends */
  endWithKey({ apiKey: { id }, deps }: Caller, end: () => void): () => void {
    const { apiKeys } = deps.store;
    const watched = this.#watched.get(id) ?? {
      ends: new Set(),
      timer: setInterval(() => {
        // Without the store open streams continue; new ones are refused.
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

  /** Cuts a streaming response once the key of its request is revoked. */
  cutWithKey(caller: Caller, response: Response): Response {
    if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
    const cut = new AbortController();
    const over = this.endWithKey(caller, () => cut.abort());
    const { readable, writable } = new TransformStream<Uint8Array>();
    // each side sees its own end of the stream
    void response.body.pipeTo(writable, { signal: cut.signal }).then(over, over);
    return new Response(readable, response);
  }

  #endAll(id: string): void {
    for (const end of this.#watched.get(id)?.ends ?? []) end();
  }
}
