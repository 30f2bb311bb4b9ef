import { createHash } from 'node:crypto';
import type { RequestId, ServerContext } from '@modelcontextprotocol/server';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import type { ApprovalPresentation } from './showing.ts';
import { knowsTasks } from './task.ts';

/** Maximum wait in seconds: clients time out after 60 s, unless they have requested progress. */
export const LONGEST_WAIT = { unheard: 50, heard: 300 };
/** Interval of progress notifications of a waiting call, ms. */
const PROGRESS_MS = 8_000;
/** Time after which an operation becomes a task, for clients that support tasks, s. */
const UNTIL_TASK = 5;
/** Number of latest calls that can be undone after their answer: a cancel may arrive late. */
const MADE = 20;

/** Owner of calls, and their connection. */
export interface Caller {
  client: MayflyClient;
  /**
   * Part of the idempotency key that is equal for a repeated request; null: repeats are unrecognizable. A session of
   * 2025-11-25 has one, with the id of the request.
   */
  session: string | null;
  /** Undo functions for cancels that arrive after the answer, if the connection can have them. */
  made?: RecentUndos;
  /** Presentation of approval requests to its user. */
  showing: ApprovalPresentation;
}

/** Undoes a call. Idempotent. */
export type Undo = () => Promise<unknown>;

/** Undo functions of recent calls, by request id. */
export class RecentUndos {
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

/** Running call of a tool. */
export class Call {
  readonly client: MayflyClient;
  /** Aborted when the caller cancels. */
  readonly signal: AbortSignal;
  readonly #context: ServerContext;
  readonly #caller: Caller;
  #progress = 0;
  #last: string;
  #undo: Undo | null = null;
  #goesOnAs: string | undefined;
  /** Serializes messages: each is stored before it is sent, and must not overtake another. */
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

  /** True when the caller gets progress notifications. */
  get isHeard(): boolean {
    return this.#context.mcpReq._meta?.progressToken !== undefined;
  }

  /** Limits a wait to a time after which no client gives up, s. */
  waitSeconds(asked: number): number {
    return Math.min(asked, this.isHeard ? LONGEST_WAIT.heard : LONGEST_WAIT.unheard);
  }

  /** Limits the wait for an operation that can continue as a task, s. */
  untilTask(asked: number): number {
    return this.knowsTasks ? Math.min(asked, UNTIL_TASK) : asked;
  }

  /** True when the caller supports tasks as answers. */
  get knowsTasks(): boolean {
    return knowsTasks(this.#context);
  }

  /**
   * Waits for an event within the caller's limit; an error ends the wait, too.
   * @param follow is aborted after that time or by the caller
   * @returns undefined when it did not come
   */
  async within<T>(seconds: number, follow: (signal: AbortSignal) => Promise<T | undefined>): Promise<T | undefined> {
    if (seconds === 0) return undefined;
    const over = AbortSignal.timeout(this.waitSeconds(seconds) * 1_000);
    try {
      return await follow(AbortSignal.any([this.signal, over]));
    } catch {
      this.signal.throwIfAborted();
      return undefined; // the caller reads the state afterwards
    }
  }

  /** Sends progress. Ignores failures: the signal reports a disconnected client. */
  tell(message: string): void {
    const progressToken = this.#context.mcpReq._meta?.progressToken;
    this.#last = message;
    if (progressToken === undefined) return;
    const params = { progressToken, progress: ++this.#progress, message };
    const { notify } = this.#context.mcpReq;
    this.#told = this.#told.then(() => notify({ method: 'notifications/progress', params })).catch(() => {});
  }

  /** Returns the Idempotency-Key of changes: the caller's own, else one of the request, if a repeat is recognizable. */
  key(own: string | undefined, args: unknown): { idempotencyKey?: string } {
    const named = this.#goesOnAs ?? own;
    if (named !== undefined) return { idempotencyKey: named };
    const { session } = this.#caller;
    if (session === null) return {};
    const request = JSON.stringify([session, this.#context.mcpReq.id, this.name, args]);
    return { idempotencyKey: `mcp-${createHash('sha256').update(request).digest('hex')}` };
  }

  /** Continues an operation started under that Idempotency-Key. */
  goesOnAs(idempotencyKey: string): void {
    this.#goesOnAs = idempotencyKey;
  }

  /** Sets the undo for a cancel: before the step, and again when less suffices; null: none. */
  undoneBy(undo: Undo | null): void {
    this.#undo = undo;
  }

  /** Ends the call before its answer, and keeps its undo for a late cancel, if the connection can have one. */
  async answered(): Promise<void> {
    await this.end();
    this.signal.throwIfAborted();
    if (this.#undo) this.#caller.made?.keep(this.#context.mcpReq.id, this.#undo);
  }

  async undo(): Promise<void> {
    await this.#undo?.();
  }

  /** Returns another tool's name for the caller. */
  tool(name: string): string {
    return this.prefix + name;
  }

  /** Sends the remaining progress before an answer. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#told;
  }
}
