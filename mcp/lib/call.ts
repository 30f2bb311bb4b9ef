import { createHash } from 'node:crypto';
import type { RequestId, ServerContext } from '@modelcontextprotocol/server';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import type { Showing } from './showing.ts';
import { knowsTasks } from './task.ts';

/** Clients give up on a call after 60 s, unless they have asked to be told of its progress. Seconds. */
export const LONGEST_WAIT = { unheard: 50, heard: 300 };
/** How often a call that waits is heard of. Milliseconds. */
const PROGRESS_MS = 8_000;
/** What takes longer becomes a task, for those that know tasks. Seconds. */
const UNTIL_TASK = 5;
/** How many calls back one can be undone: its cancel is as late as a message can be. */
const MADE = 20;

/** Whose calls they are, and over which connection. */
export interface Caller {
  client: MayflyClient;
  /**
   * Of what a request that is sent twice has both times; null: nothing tells. A session of 2025-11-25 has it, with the id of
   * the request.
   */
  session: string | null;
  /** Where it can be known that a caller gave up on an answer that had just left: what undoes it. */
  made?: Made;
  /** How what waits for approval is shown to its user. */
  showing: Showing;
}

/** Takes back what a call has made. Idempotent. */
export type Undo = () => Promise<unknown>;

/** What calls have made lately, by the ids of their requests. */
export class Made {
  readonly #undos = new Map<RequestId, Undo>();

  keep(requestId: RequestId, undo: Undo): void {
    this.#undos.delete(requestId);
    this.#undos.set(requestId, undo);
    const [oldest] = this.#undos.keys();
    if (this.#undos.size > MADE && oldest !== undefined) this.#undos.delete(oldest);
  }

  async undo(requestId: RequestId): Promise<void> {
    const undo = this.#undos.get(requestId);
    this.#undos.delete(requestId);
    await undo?.();
  }
}

/** One call of a tool, while it runs. */
export class Call {
  readonly client: MayflyClient;
  /** Aborted when the caller wants no answer any more. */
  readonly signal: AbortSignal;
  readonly #context: ServerContext;
  readonly #caller: Caller;
  #progress = 0;
  #last: string;
  #undo: Undo | null = null;
  #goesOnAs: string | undefined;
  /** Each message is kept for who lost the stream before it leaves, and one must not overtake another. */
  #told: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    caller: Caller,
    context: ServerContext,
    private readonly name: string,
    private readonly prefix: string,
  ) {
    this.client = caller.client;
    this.signal = context.mcpReq.signal;
    this.#context = context;
    this.#caller = caller;
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

  /** How long what can go on as a task is waited for. Seconds. */
  untilTask(asked: number): number {
    return this.knowsTasks ? Math.min(asked, UNTIL_TASK) : asked;
  }

  /** Whether the caller can be answered with a task. */
  get knowsTasks(): boolean {
    return knowsTasks(this.#context);
  }

  /**
   * Waits for an event as long as the caller may, whatever else ends the wait.
   * @param follow is aborted when the time is over or the caller gives up
   * @returns undefined when it did not come
   */
  async within<T>(seconds: number, follow: (signal: AbortSignal) => Promise<T | undefined>): Promise<T | undefined> {
    if (seconds === 0) return undefined;
    const over = AbortSignal.timeout(this.waitSeconds(seconds) * 1_000);
    try {
      return await follow(AbortSignal.any([this.signal, over]));
    } catch {
      this.signal.throwIfAborted();
      return undefined; // how far it is, a look at it says
    }
  }

  /** Says how far the call is. One that can't be told is gone, which its signal says where it matters. */
  tell(message: string): void {
    const progressToken = this.#context.mcpReq._meta?.progressToken;
    this.#last = message;
    if (progressToken === undefined) return;
    const params = { progressToken, progress: ++this.#progress, message };
    const { notify } = this.#context.mcpReq;
    this.#told = this.#told.then(() => notify({ method: 'notifications/progress', params })).catch(() => {});
  }

  /** The Idempotency-Key of what it changes: the caller's own, else that of the request, where it can be known again. */
  key(own: string | undefined, args: unknown): { idempotencyKey?: string } {
    const named = this.#goesOnAs ?? own;
    if (named !== undefined) return { idempotencyKey: named };
    const { session } = this.#caller;
    if (session === null) return {};
    const request = JSON.stringify([session, this.#context.mcpReq.id, this.name, args]);
    return { idempotencyKey: `mcp-${createHash('sha256').update(request).digest('hex')}` };
  }

  /** It was begun before, under that Idempotency-Key. */
  goesOnAs(idempotencyKey: string): void {
    this.#goesOnAs = idempotencyKey;
  }

  /** What takes it back, should the caller give up on it: said before the step, and again when less is enough; null: nothing. */
  undoneBy(undo: Undo | null): void {
    this.#undo = undo;
  }

  /** Its answer leaves now: it can still be taken back, where it can be known that the caller gave up on that. */
  async answered(): Promise<void> {
    await this.end();
    this.signal.throwIfAborted();
    if (this.#undo) this.#caller.made?.keep(this.#context.mcpReq.id, this.#undo);
  }

  async undo(): Promise<void> {
    await this.#undo?.();
  }

  /** What the caller knows another tool as. */
  tool(name: string): string {
    return this.prefix + name;
  }

  /** All is told before an answer is given. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#told;
  }
}
