import { randomUUID } from 'node:crypto';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { stringifyRaw } from '../../../model/events/json/raw-json.ts';
import { isSandboxId } from '../../../model/sandbox-id.ts';
import { type CallOptions, withinDeadline } from './deadline.ts';
import type { Approval } from './openapi.ts';
import { ApprovalNeededError, MayflyApiError, MayflyConnectionError, problemFrom } from './problem.ts';
import { withoutHeadersTimeout, withRetries } from './retry.ts';

export interface ClientOptions {
  /** Address of the API, e.g. `http://127.0.0.1:8080`. */
  baseUrl: string;
  /** API key as `mayfly key create` printed it, or a function that returns it before each request. */
  apiKey: string | (() => string);
  /** `@default` the platform's fetch */
  fetch?: typeof fetch;
  /** Deadline of calls without their own. `@default` 300 */
  deadlineSeconds?: number;
  /**
   * Receives a request that awaits an approval. The call then waits for the decision, until its `signal` ends it.
   * `@default` such a request throws {@link ApprovalNeededError}
   */
  onApproval?: (approval: Approval) => void;
}

export interface PostOptions extends CallOptions {
  /** Idempotency key, so that a repeated request makes one sandbox. `@default` a random UUID per call */
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

/** Default deadline, longer than the API holds one request back, see resource.ts. Seconds. */
const DEADLINE_SECONDS = 300;

/** Wait of one poll of an approval. */
const POLL_PREFERENCE = 'wait=50';
/** Minimum interval between two polls, ms. */
const POLL_INTERVAL_MS = 1_000;

/** Visible characters, allowed in a header (RFC 9110, 5.5): for any other, an error of `fetch` contains the key. */
const HEADER_CHARACTERS = /^[\x21-\x7e]+$/;

/** Sends requests with the key, and turns everything but success into an error. */
export class Transport {
  readonly baseUrl: string;
  readonly #apiKey: () => string;
  readonly #fetch: typeof fetch;
  /** Deadline of calls without their own. */
  readonly deadlineSeconds: number;
  readonly #onApproval: ClientOptions['onApproval'];
  readonly #told = new Set<string>();

  /**
   * @throws TypeError when the base URL is not an absolute http(s) URL, or the key cannot be sent, without quoting it
   */
  constructor(options: ClientOptions) {
    const url = new URL(options.baseUrl);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') {
      throw new TypeError(`the base URL must begin with http:// or https://, not ${url.protocol}`);
    }
    this.baseUrl = url.href.replace(/\/+$/, '');
    const { apiKey } = options;
    if (typeof apiKey === 'string' && !HEADER_CHARACTERS.test(apiKey)) {
      throw new TypeError('the API key has characters that no key has');
    }
    this.#apiKey = typeof apiKey === 'string' ? () => apiKey : apiKey;
    this.#fetch = options.fetch ?? fetch;
    this.deadlineSeconds = options.deadlineSeconds ?? DEADLINE_SECONDS;
    this.#onApproval = options.onApproval;
  }

  /**
   * Returns the JSON answer of a repeatable request: retried within bounds, a POST under one idempotency key. A change
   * by a sandbox's name is sent only once: by the second attempt another sandbox may have the name.
   */
  async json<T>(request: RequestShape, options: PostOptions = {}): Promise<T> {
    if (isChangeByName(request)) return this.jsonOnce(request, options);
    const headers = { ...request.headers };
    if (request.method === 'POST') headers['idempotency-key'] = options.idempotencyKey ?? randomUUID();
    for (;;) {
      const { text, isAsked } = await this.repeated(options, (signal) => this.#read({ ...request, headers }, signal));
      if (!isAsked) return parseBody<T>(text);
      await this.#decided(parseBody<Approval>(text), headers['idempotency-key'] ?? '', options);
    }
  }

  /** Waits for the decision of an approval. @throws ApprovalNeededError without `onApproval` */
  async #decided(approval: Approval, idempotencyKey: string, options: CallOptions): Promise<void> {
    if (!this.#onApproval) throw new ApprovalNeededError(approval, idempotencyKey);
    if (!this.#told.has(approval.id)) this.#onApproval(approval);
    this.#told.add(approval.id);
    const look = { method: 'GET' as const, path: `/v1/approvals/${approval.id}`, headers: { prefer: POLL_PREFERENCE } };
    for (;;) {
      const began = performance.now();
      if ((await this.json<Approval>(look, options)).state !== 'awaiting-approval') return;
      // A proxy may remove the preference, and then each poll is answered at once.
      await pause(began + POLL_INTERVAL_MS - performance.now(), options.signal);
    }
  }

  /** Sends a request up to four times, within the call's deadline. */
  repeated<T>(options: CallOptions, send: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { signal, deadlineSeconds = this.deadlineSeconds } = options;
    return withinDeadline(deadlineSeconds, signal, (within, endsAt) => {
      return withRetries(() => send(within), within, endsAt);
    });
  }

  /** Returns the JSON answer of a request that must not be sent twice. */
  async jsonOnce<T>(request: RequestShape, options: CallOptions = {}): Promise<T> {
    await detectClosedConnections();
    return parseBody<T>((await this.#read(request, options.signal)).text);
  }

  /** Returns an open answer whose body the caller reads; not retried. */
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
    const isApprovalPending =
      response.status === 202 && response.headers.get('location')?.startsWith('/v1/approvals/') === true;
    try {
      return { text: await response.text(), isAsked: isApprovalPending };
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
        ...(request.stream && { body: request.stream, duplex: 'half' as const, ...withoutHeadersTimeout() }),
        ...(signal && { signal }),
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw new MayflyConnectionError(this.baseUrl, error);
    }
  }
}

/**
 * Waits for a whole turn of the event loop. While this process was busy, the server may have closed a kept-alive
 * connection; a request on it fails with EPIPE, and cannot be sent again.
 */
async function detectClosedConnections(): Promise<void> {
  await turn();
  await turn();
}

/**
 * Reports whether a request changes a sandbox by its name. For a POST the API knows the sandbox by the idempotency key.
 */
function isChangeByName({ method, path }: RequestShape): boolean {
  const [, sandbox] = /^\/v1\/sandboxes\/([^/]+)/.exec(path) ?? [];
  return (method === 'DELETE' || method === 'PATCH') && sandbox !== undefined && !isSandboxId(sandbox);
}

/** Parses an answer, without validation: its type is that of the route for which this client was written. */
function parseBody<T>(body: string): T {
  return (body === '' ? undefined : JSON.parse(body)) as T;
}

/** @throws the signal's reason */
async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(Math.max(0, ms), undefined, signal && { signal }).catch((cause: unknown) => {
    signal?.throwIfAborted();
    throw cause;
  });
}
