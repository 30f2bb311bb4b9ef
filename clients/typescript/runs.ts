import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { RawJson } from '../../model/events/json/raw-json.ts';
import type { CallOptions } from './http/deadline.ts';
import { type EventStreamOptions, followEvents } from './http/event-stream.ts';
import type { DiffLine, ReceiptKeys, Run, RunProgress } from './http/openapi.ts';
import { bytesOf, preferWait, Resource, type WaitOptions } from './http/resource.ts';
import { retryWhileUnavailable } from './http/retry.ts';
import type { PostOptions, RequestShape } from './http/transport.ts';
import type {
  BatchItem,
  CloudEvent,
  CreateRun,
  EndedOptions,
  EventOptions,
  Invoked,
  ReplayOptions,
  RunOutput,
  RunOutputOptions,
  RunResult,
} from './run-options.ts';

/** Growing interval between two polls of a run, ms. */
const POLL = { firstMs: 50, mostMs: 500, factor: 1.5 };
/** Time for which an answer is held back during a run, s. */
const LONG_POLL_SECONDS = 30;

/** Events that functions run for. A Uint8Array is sent as it is, undefined is not sent, other data is sent as JSON. */
export class Runs extends Resource {
  /** Newest first. */
  readonly list = this.ask('GET /v1/runs');
  /**
   * Signed receipt of a run with completed cleanup; {@link verifyReceipt} verifies it.
   * @throws MayflyApiError run_not_ended, receipt_not_ready
   */
  readonly receipt = this.ask('GET /v1/runs/{id}/receipt');
  /** Audit of a run, oldest first. */
  readonly audit = this.ask('GET /v1/runs/{id}/audit');
  /** Returns when the request is stored; a waiting run has ended then. */
  readonly cancel = this.ask('POST /v1/runs/{id}/cancel');
  /**
   * Replaces a dead letter by another run, once: each call gets the same answer.
   * @throws MayflyApiError not_dead_letter
   */
  readonly redrive = this.ask('POST /v1/runs/{id}/redrive');
  readonly #receiptKeys = this.ask('GET /v1/receipt-keys');

  /** Returns when the event is stored, or with `waitSeconds` when its run has ended. The same key is the same run for 24 hours. */
  create(name: string, data?: unknown, options: CreateRun = {}): Promise<Run> {
    const { delaySeconds, waitSeconds = 0 } = options;
    const content = contentOf(data, options);
    const headers = { ...content.headers, ...preferWait(waitSeconds) };
    const path = `${functionPath(name)}/runs`;
    return this.transport.json({ method: 'POST', path, query: { delaySeconds }, ...content, headers }, options);
  }

  /**
   * Sends up to 1,000 events, each accepted or refused on its own. Returns their outcomes, in order.
   * @param events CloudEvents, or the JSON of a list of them
   */
  async createBatch(
    name: string,
    events: readonly CloudEvent[] | Uint8Array,
    options: PostOptions = {},
  ): Promise<BatchItem[]> {
    const headers = { 'content-type': 'application/cloudevents-batch+json' };
    const body = toRawJson(events);
    const request = { method: 'POST', path: `${functionPath(name)}/runs:batch`, body, headers } as const;
    return (await this.transport.json<{ items: BatchItem[] }>(request, options)).items;
  }

  /**
   * Waits for the result. An abort of the wait ends nothing: the same key returns the result of the same run.
   * @throws MayflyApiError run_failed, run_timed_out
   */
  async invoke(name: string, data?: unknown, options: WaitOptions & EventOptions = {}): Promise<Invoked> {
    const content = contentOf(data, options);
    const key = { 'idempotency-key': options.idempotencyKey ?? randomUUID() };
    const headers = { ...content.headers, ...preferWait(options.waitSeconds), ...key };
    const request = { method: 'POST', path: `${functionPath(name)}/invoke`, ...content, headers } as const;
    return this.transport.repeated(options, async (signal) => {
      const response = await this.transport.open(request, signal);
      const bytes = await bytesOf(response, this.transport, signal);
      const runId = response.headers.get('mayfly-run-id') ?? '';
      const none = { runId, contentType: null, bytes: new Uint8Array() };
      if (response.status === 202) return { ...none, run: JSON.parse(new TextDecoder().decode(bytes)) as Run };
      return response.status === 204 ? none : { runId, contentType: typeOf(response), bytes };
    });
  }

  /** Returns a run as it is now, or with `waitSeconds` when its cleanup has ended. */
  get(id: string, { waitSeconds = 0, ...options }: CallOptions & Pick<WaitOptions, 'waitSeconds'> = {}): Promise<Run> {
    const headers = waitSeconds > 0 ? preferWait(waitSeconds) : {};
    return this.transport.json({ method: 'GET', path: pathOf(id), headers }, options);
  }

  /** Returns the result; of a failed run, the part that exists. */
  async result(id: string, options: CallOptions = {}): Promise<RunResult> {
    return this.#content(`${pathOf(id)}/result`, options);
  }

  /** Returns an artifact. @param path as the run lists it, with its slashes */
  async artifact(id: string, path: string, options: CallOptions = {}): Promise<Uint8Array> {
    return (await this.#content(`${pathOf(id)}/artifacts/${encodeURIComponent(path)}`, options)).bytes;
  }

  /**
   * Returns the changes that its process made in the file system, then their counts.
   * @throws MayflyApiError run_without_result
   */
  async diff(id: string, options: CallOptions = {}): Promise<DiffLine[]> {
    const lines = new TextDecoder().decode(await this.diffBytes(id, options)).split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as DiffLine);
  }

  /** Returns the diff byte for byte, as digested in its receipt. */
  async diffBytes(id: string, options: CallOptions = {}): Promise<Uint8Array> {
    return (await this.#content(`${pathOf(id)}/diff`, options)).bytes;
  }

  /** Returns the output of its process that is stored now. */
  async output(id: string, { signal, ...query }: RunOutputOptions = {}): Promise<RunOutput> {
    const response = await this.transport.open(
      { method: 'GET', path: `${pathOf(id)}/output`, query: { ...query } },
      signal,
    );
    return {
      bytes: response.body ?? new ReadableStream({ start: (controller) => controller.close() }),
      nextOffset: Number(response.headers.get('x-mayfly-next-offset') ?? query.offset ?? 0),
      hasEnded: response.headers.get('x-mayfly-ended') === 'true',
    };
  }

  /** Returns its event, byte for byte as its process had it. */
  async event(id: string, options: CallOptions = {}): Promise<Uint8Array> {
    return (await this.#content(`${pathOf(id)}/event`, options)).bytes;
  }

  /**
   * Returns the public keys that verify receipts, newest first. Store the key that you trust: these are only the API's
   * present answer.
   */
  async receiptKeys(options: CallOptions = {}): Promise<ReceiptKeys['items']> {
    return (await this.#receiptKeys(options)).items;
  }

  /** Runs its event again, regardless of its outcome. Returns the new run when it is stored. */
  replay(id: string, { version = 'same', event, ...options }: ReplayOptions = {}): Promise<Run> {
    const path = `${pathOf(id)}/replay`;
    return this.transport.json({ method: 'POST', path, body: { version, event: toRawJson(event) } }, options);
  }

  /** Yields a run as it is now and after every change, until its cleanup has ended, across broken connections. */
  async *follow(id: string, options: EventStreamOptions = {}): AsyncGenerator<RunProgress, void, undefined> {
    const call = options.signal ? { signal: options.signal } : {};
    const isOver = async () => isClean(await this.get(id, call));
    for await (const { event, data } of followEvents(this.transport, `${pathOf(id)}/events`, isOver, options)) {
      if (event === 'run') yield JSON.parse(data) as RunProgress;
    }
  }

  /** Polls a run until it has ended and, by default, its cleanup is not pending. */
  async ended(id: string, { until = 'clean', look, signal }: EndedOptions = {}): Promise<Run> {
    const waits = until === 'clean' && !look;
    const call = { ...(signal && { signal }), ...(waits && { waitSeconds: LONG_POLL_SECONDS }) };
    for (let pauseMs = POLL.firstMs; ; pauseMs = Math.min(POLL.mostMs, pauseMs * POLL.factor)) {
      const run = await retryWhileUnavailable(() => this.get(id, call), call);
      look?.(run);
      if (run.state === 'ended' && (until === 'ended' || isClean(run))) return run;
      await sleep(pauseMs, undefined, call).catch((cause: unknown) => {
        signal?.throwIfAborted();
        throw cause;
      });
    }
  }

  #content(path: string, options: CallOptions): Promise<RunResult> {
    return this.transport.repeated(options, async (signal) => {
      const response = await this.transport.open({ method: 'GET', path }, signal);
      return { contentType: typeOf(response), bytes: await bytesOf(response, this.transport, signal) };
    });
  }
}

function isClean({ state, cleanup }: Pick<Run, 'state' | 'cleanup'>): boolean {
  return state === 'ended' && cleanup !== 'pending';
}

function contentOf(data: unknown, { contentType }: EventOptions): Pick<RequestShape, 'body' | 'bytes' | 'headers'> {
  if (data === undefined) return {};
  if (!(data instanceof Uint8Array)) return { body: data };
  return { bytes: data, headers: { 'content-type': contentType ?? 'application/json' } };
}

function typeOf(response: Response): string {
  return response.headers.get('content-type') ?? 'application/octet-stream';
}

function functionPath(name: string): string {
  return `/v1/functions/${encodeURIComponent(name)}`;
}

function pathOf(id: string): string {
  return `/v1/runs/${encodeURIComponent(id)}`;
}

/** Marks JSON in bytes to be sent unchanged. */
function toRawJson<T>(value: T | Uint8Array): T | RawJson {
  return value instanceof Uint8Array ? new RawJson(new TextDecoder().decode(value)) : value;
}
