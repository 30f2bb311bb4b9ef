import { LIMITS } from '../../../model/limits.ts';
import type { CallOptions } from './deadline.ts';
import type { Approval, paths } from './openapi.ts';
import { MayflyConnectionError } from './problem.ts';
import type { PostOptions, RequestShape, Transport } from './transport.ts';

/**
 * Longest wait of one request, s: undici, which is Node's fetch, fails when an answer's headers take 300 s (its
 * `headersTimeout` default).
 */
const LONGEST_WAIT_SECONDS = 240;

export function sandboxPath(id: string): string {
  return `/v1/sandboxes/${encodeURIComponent(id)}`;
}

/** Returns the header with the time for which the API may hold its answer back. */
export function preferWait(waitSeconds: number = LIMITS.waitSeconds.default): Record<string, string> {
  return { prefer: `wait=${Math.min(Math.max(0, Math.trunc(waitSeconds)), LONGEST_WAIT_SECONDS)}` };
}

export interface Page<T> {
  items: T[];
  nextCursor: string | null;
  /** Records of the page that cannot be read. Absent: none. */
  unreadable?: { id: string; problem: string }[];
}

/** List without pages. */
export type List<T> = Omit<Page<T>, 'nextCursor'>;

export interface PageOptions extends CallOptions {
  limit?: number;
  cursor?: string;
}

/** `waitSeconds`: how long the API may hold its answer back; 0 answers as soon as the request is recorded. */
export interface WaitOptions {
  /** Seconds. `@default` 60 */
  waitSeconds?: number;
}

type Method = 'get' | 'put' | 'post' | 'patch' | 'delete';

/** Method and path of an operation, as in `GET /v1/hosts`. */
export type Route = {
  [P in keyof paths]: { [M in Method]: paths[P][M] extends object ? `${Uppercase<M>} ${P}` : never }[Method];
}[keyof paths];

type Operation<R extends Route> = R extends `${infer M} ${infer P extends keyof paths}`
  ? paths[P][Lowercase<M> & Method]
  : never;
type PathValues<R, V> = R extends `${string}{${infer N extends string & keyof V}}${infer Rest}`
  ? [V[N] extends number ? number : string, ...PathValues<Rest, V>]
  : [];
type PathArguments<R extends Route> = Operation<R> extends { parameters: { path: infer V } } ? PathValues<R, V> : [];

type Given<T> = [NonNullable<T>] extends [never] ? object : NonNullable<T>;
type Parameters<R extends Route> =
  Operation<R> extends { parameters: infer P extends { query?: unknown; header?: unknown } } ? P : never;
type QueryValue<T> = T extends 'true' ? true : T extends 'false' ? false : T;
type QueryOf<Q> = { [N in keyof Q]: QueryValue<Q[N]> };
/** Refuses options of pages where an operation has none. */
type WithoutPages<Q> = 'limit' extends keyof Q ? unknown : { limit?: never; cursor?: never };
type WaitOf<H> = 'prefer' extends keyof H ? WaitOptions : unknown;

/** Options of an operation, its query among them. */
export type OptionsOf<R extends Route> = (R extends `POST ${string}` ? PostOptions : CallOptions) &
  QueryOf<Given<Parameters<R>['query']>> &
  WithoutPages<Given<Parameters<R>['query']>> &
  WaitOf<Given<Parameters<R>['header']>>;
/** Body of an operation. */
export type BodyOf<R extends Route> =
  Operation<R> extends { requestBody?: { content: { 'application/json': infer B } } } ? B : never;

type JsonOf<T> = T extends { content: { 'application/json': infer B } } ? B : undefined;
type Success<R extends Route> = Operation<R> extends { responses: infer A } ? JsonOf<A[keyof A]> : never;
/** Answer of an operation; the transport waits for approvals itself. */
export type AnswerOf<R extends Route> = Success<R> extends Approval ? Success<R> : Exclude<Success<R>, Approval>;

type Arguments<T> = object extends T ? [T?] : [T];

/** Operation without a body. */
type Ask<R extends Route> = (...args: [...PathArguments<R>, ...Arguments<OptionsOf<R>>]) => Promise<AnswerOf<R>>;
/** Operation with a body. */
type Send<R extends Route> = (
  ...args: [...PathArguments<R>, ...Arguments<BodyOf<R>>, ...Arguments<OptionsOf<R>>]
) => Promise<AnswerOf<R>>;

/** Group of operations. Each throws as {@link MayflyClient} does. */
export abstract class Resource {
  constructor(protected readonly transport: Transport) {}

  /** Binds an operation: it takes the values of its path, then options with its query. */
  protected ask<R extends Route>(route: R): Ask<R> {
    const { method, path, parameters } = partsOf(route);
    return (...args) => {
      const { call, ...options } = splitOptions(args[parameters.length]);
      return this.transport.json({ method, path: fillPath(path, parameters, args), ...options }, call);
    };
  }

  /** Binds an operation with a JSON body, which comes after the values of its path. */
  protected send<R extends Route>(route: R): Send<R> {
    const { method, path, parameters } = partsOf(route);
    return (...args) => {
      const { call, ...options } = splitOptions(args[parameters.length + 1]);
      const body = args[parameters.length] ?? {};
      return this.transport.json({ method, path: fillPath(path, parameters, args), body, ...options }, call);
    };
  }
}

function partsOf(route: Route) {
  const [method, path] = route.split(' ') as [RequestShape['method'], string];
  return { method, path, parameters: path.match(/\{[^}]+\}/g) ?? [] };
}

function fillPath(path: string, parameters: readonly string[], values: readonly unknown[]): string {
  return parameters.reduce((text, name, at) => text.replace(name, () => encodeURIComponent(String(values[at]))), path);
}

function splitOptions(options: unknown = {}) {
  const { waitSeconds, signal, deadlineSeconds, idempotencyKey, ...query } = options as WaitOptions & PostOptions;
  const call = {
    ...(signal && { signal }),
    ...(deadlineSeconds !== undefined && { deadlineSeconds }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
  return { query, headers: waitSeconds === undefined ? {} : preferWait(waitSeconds), call };
}

/** Reads all bytes of an open answer. @throws MayflyConnectionError when they break off, and the signal's reason */
export async function bytesOf(
  response: Response,
  { baseUrl }: Pick<Transport, 'baseUrl'>,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  try {
    return new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    signal?.throwIfAborted();
    throw new MayflyConnectionError(baseUrl, error);
  }
}
