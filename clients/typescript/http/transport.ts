import { randomUUID } from 'node:crypto';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { stringifyRaw } from '../../../model/events/json/raw-json.ts';
import { isSandboxId } from '../../../model/sandbox-id.ts';
import { type CallOptions, withinDeadline } from './deadline.ts';
import type { Approval } from './openapi.ts';
import { ApprovalNeededError, MayflyApiError, MayflyConnectionError, problemFrom } from './problem.ts';
import { unhurried, withRetries } from './retry.ts';

export interface ClientOptions {
  /** Where the API listens, e.g. `http://127.0.0.1:8080`. */
  baseUrl: string;
  /** An API key as `mayfly key create` printed it, or what finds the key before each request. */
  apiKey: string | (() => string);
  /** `@default` the platform's fetch */
  fetch?: typeof fetch;
  /** Of calls that say none themselves. `@default` 300 */
  deadlineSeconds?: number;
  /**
   * Told of a request that waits for approval, which then is waited for, until the call's `signal` ends it.
   * `@default` such a request throws {@link ApprovalNeededError}
   */
  onApproval?: (approval: Approval) => void;
}

export interface PostOptions extends CallOptions {
  /** Names this request, so that sending it twice makes one sandbox. `@default` a random UUID per call */
  idempotencyKey?: string;
}

export interface RequestShape {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the base URL, its parts already encoded. */
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as they are, instead of `body`. */
  bytes?: Uint8Array;
  /** Sent as it comes, instead of `body`; such a request cannot be repeated. */
  stream?: ReadableStream<Uint8Array>;
  headers?: Record<string, string>;
}

/** Longer than one request may be held back, see paths.ts. Seconds. */
const DEADLINE_SECONDS = 300;

/** How long one look at an approval waits. */
const LOOK = 'wait=50';
/** From one look to the next, at least. Milliseconds. */
const LOOK_MS = 1_000;

/** Of a header's token (RFC 9110, 5.6.2): whoever sends another is told its text by `fetch`. */
const SENDABLE = /^[\x21-\x7e]+$/;

/** Sends requests with the key, and turns everything but success into an error. */
export class Transport {
  readonly baseUrl: string;
  readonly #apiKey: () => string;
  readonly #fetch: typeof fetch;
  /** Of calls that say none themselves. */
  readonly deadlineSeconds: number;
  readonly #onApproval: ClientOptions['onApproval'];
  readonly #told = new Set<string>();

  /** @throws TypeError when the base URL is not an absolute http(s) URL, or the key can't be sent: nothing of it is told */
  constructor(options: ClientOptions) {
    const url = new URL(options.baseUrl);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') {
      throw new TypeError(`the base URL must begin with http:// or https://, not ${url.protocol}`);
    }
    this.baseUrl = url.href.replace(/\/+$/, '');
    const { apiKey } = options;
    if (typeof apiKey === 'string' && !SENDABLE.test(apiKey)) {
      throw new TypeError('the API key has characters that no key has');
    }
    this.#apiKey = typeof apiKey === 'string' ? () => apiKey : apiKey;
    this.#fetch = options.fetch ?? fetch;
    this.deadlineSeconds = options.deadlineSeconds ?? DEADLINE_SECONDS;
    this.#onApproval = options.onApproval;
  }

  /**
   * One JSON answer of a request that may be sent again: retried within bounds, a POST under one idempotency key. What is
   * changed by a sandbox's name is asked for once: by the second time the name may be another's.
   */
  async json<T>(request: RequestShape, options: PostOptions = {}): Promise<T> {
    if (isChangeByName(request)) return this.jsonOnce(request, options);
    const headers = { ...request.headers };
    if (request.method === 'POST') headers['idempotency-key'] = options.idempotencyKey ?? randomUUID();
    for (;;) {
      const { text, isAsked } = await this.repeated(options, (signal) => this.#read({ ...request, headers }, signal));
      if (!isAsked) return parsed<T>(text);
      await this.#decided(parsed<Approval>(text), headers['idempotency-key'] ?? '', options);
    }
  }

  /** Waits until somebody has decided. @throws ApprovalNeededError where nobody wants to */
  async #decided(approval: Approval, idempotencyKey: string, options: CallOptions): Promise<void> {
    if (!this.#onApproval) throw new ApprovalNeededError(approval, idempotencyKey);
    if (!this.#told.has(approval.id)) this.#onApproval(approval);
    this.#told.add(approval.id);
    const look = { method: 'GET' as const, path: `/v1/approvals/${approval.id}`, headers: { prefer: LOOK } };
    for (;;) {
      const began = performance.now();
      if ((await this.json<Approval>(look, options)).state !== 'awaiting-approval') return;
      // What stands between may take the preference away, and each look is answered at once then.
      await pause(began + LOOK_MS - performance.now(), options.signal);
    }
  }

  /** What may be sent again: up to four times, within the call's deadline. */
  repeated<T>(options: CallOptions, send: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { signal, deadlineSeconds = this.deadlineSeconds } = options;
    return withinDeadline(deadlineSeconds, signal, (within, endsAt) => {
      return withRetries(() => send(within), within, endsAt);
    });
  }

  /** One JSON answer of a request that must not be sent twice. */
  async jsonOnce<T>(request: RequestShape, options: CallOptions = {}): Promise<T> {
    await noticeEndedConnections();
    return parsed<T>((await this.#read(request, options.signal)).text);
  }

  /** An open answer whose body the caller reads; not retried. */
  async open(request: RequestShape, signal?: AbortSignal): Promise<Response> {
    const response = await this.#send(request, signal);
    if (response.ok) return response;
    const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
    // The answer to HEAD has no body.
    const code = response.headers.get('x-mayfly-code');
    const text = request.method === 'HEAD' ? JSON.stringify({ code }) : await response.text();
    throw new MayflyApiError(
      problemFrom(response.status, text),
      Number.isFinite(retryAfter) && retryAfter >= 0 ? retryAfter : null,
    );
  }

  async #read(request: RequestShape, signal?: AbortSignal): Promise<{ text: string; isAsked: boolean }> {
    const response = await this.open(request, signal);
    const isAsked = response.status === 202 && response.headers.get('location')?.startsWith('/v1/approvals/') === true;
    try {
      return { text: await response.text(), isAsked };
    } catch (error) {
      signal?.throwIfAborted();
      throw new MayflyConnectionError(this.baseUrl, error);
    }
  }

  async #send(request: RequestShape, signal?: AbortSignal): Promise<Response> {
    const url = new URL(this.baseUrl + request.path);
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const hasBody = request.body !== undefined;
    const apiKey = this.#apiKey();
    try {
      return await this.#fetch(url, {
        method: request.method,
        headers: {
          accept: 'application/json',
          authorization: `Bearer ${apiKey}`,
          ...(hasBody && { 'content-type': 'application/json' }),
          ...request.headers,
        },
        redirect: 'error',
        ...(hasBody && { body: stringifyRaw(request.body) }),
        ...(request.bytes && { body: request.bytes }),
        ...(request.stream && { body: request.stream, duplex: 'half' as const, ...unhurried() }),
        ...(signal && { signal }),
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw new MayflyConnectionError(this.baseUrl, error);
    }
  }
}

/**
 * A whole turn of the event loop. While this process was busy the server may have ended a connection that was kept for later
 * requests; what is sent on it then ends with EPIPE, and cannot be sent again.
 */
async function noticeEndedConnections(): Promise<void> {
  await turn();
  await turn();
}

/** Of a POST the API knows by its key which sandbox it was about. */
function isChangeByName({ method, path }: RequestShape): boolean {
  const [, sandbox] = /^\/v1\/sandboxes\/([^/]+)/.exec(path) ?? [];
  return (method === 'DELETE' || method === 'PATCH') && sandbox !== undefined && !isSandboxId(sandbox);
}

/** The API's answers are typed by the routes this client was written against, not looked into again. */
function parsed<T>(body: string): T {
  return (body === '' ? undefined : JSON.parse(body)) as T;
}

/** @throws the signal's reason */
async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(Math.max(0, ms), undefined, signal && { signal }).catch((cause: unknown) => {
    signal?.throwIfAborted();
    throw cause;
  });
}
