import { createHash } from 'node:crypto';
import type { ServerContext } from '@modelcontextprotocol/server';
import type { MayflyClient } from '../client/mayfly-client.ts';

/** Clients give up on a call after 60 s, unless they have asked to be told of its progress. Seconds. */
const LONGEST_WAIT = { unheard: 50, heard: 300 };
/** How often a call that waits is heard of. Milliseconds. */
const PROGRESS_MS = 8_000;

/** Whose calls they are, and over which connection. */
export interface Caller {
  client: MayflyClient;
  /**
   * Of what a request that is sent twice has both times; null: nothing tells. A session of 2025-11-25 has it, with the id of
   * the request.
   */
  session: string | null;
}

/** One call of a tool, while it runs. */
export class Call {
  readonly client: MayflyClient;
  /** Aborted when the caller wants no answer any more. */
  readonly signal: AbortSignal;
  readonly #context: ServerContext;
  readonly #session: string | null;
  #progress = 0;
  #last: string;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    { client, session }: Caller,
    context: ServerContext,
    private readonly name: string,
    private readonly prefix: string,
  ) {
    this.client = client;
    this.signal = context.mcpReq.signal;
    this.#context = context;
    this.#session = session;
    this.#last = `${name} has begun`;
    if (this.isHeard) this.#timer = setInterval(() => this.tell(this.#last), PROGRESS_MS);
  }

  /** Whether the caller is told of progress. */
  get isHeard(): boolean {
    return this.#context.mcpReq._meta?.progressToken !== undefined;
  }

  /** What the caller may wait: as long as asked, within what no client gives up on. Seconds. */
  waitSeconds(asked: number): number {
    return Math.min(asked, this.isHeard ? LONGEST_WAIT.heard : LONGEST_WAIT.unheard);
  }

  /** Says how far the call is. One that can't be told is gone, which its signal says where it matters. */
  tell(message: string): void {
    const progressToken = this.#context.mcpReq._meta?.progressToken;
    this.#last = message;
    if (progressToken === undefined) return;
    const params = { progressToken, progress: ++this.#progress, message };
    this.#context.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
  }

  /** The Idempotency-Key of what it changes: the caller's own, else that of the request, where it can be known again. */
  key(own: string | undefined, args: unknown): { idempotencyKey?: string } {
    if (own !== undefined) return { idempotencyKey: own };
    if (this.#session === null) return {};
    const request = JSON.stringify([this.#session, this.#context.mcpReq.id, this.name, args]);
    return { idempotencyKey: `mcp-${createHash('sha256').update(request).digest('hex')}` };
  }

  /** What the caller knows another tool as. */
  tool(name: string): string {
    return this.prefix + name;
  }

  end(): void {
    clearInterval(this.#timer);
  }
}
