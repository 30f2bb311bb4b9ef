import { type RouteConfig, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { ErrorCode, MayflyError } from '../../model/errors.ts';
import { stringifyRaw } from '../../model/events/json/raw-json.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import type { Scope } from '../../model/scopes.ts';
import type { Subjects } from '../../services/problems/problem.ts';
import { canBeReserved } from '../../services/sandboxes/reserved-sandbox.ts';
import type { Store } from '../../store/connect.ts';
import { strip } from '../schema/strip.ts';
import { isOptional, limitBody, readJson } from './body.ts';
import { type App, actorOf, type Env, open, preferenceOf, type RequestDeps, requires } from './context.ts';
import { problemResponse } from './problem.ts';
import { resolveSandboxId } from './sandbox-reference.ts';
import { BODY, type Codes, KEYED, noQuery, problems } from './schemas.ts';
import { parsePart } from './validation.ts';

/** Header of a repeated response. */
export const REPLAYED = 'Idempotent-Replayed';

type Media = NonNullable<NonNullable<RouteConfig['request']>['body']>;
type Answers = RouteConfig['responses'];

/** Parts of a request, each with its schema. A `media` body is passed on unchanged. */
interface Parts {
  params?: z.ZodObject;
  query?: z.ZodObject;
  headers?: z.ZodObject;
  body?: z.ZodType;
  media?: Media;
}

type Valid<I, K extends keyof Parts> = I extends { [P in K]: infer S extends z.ZodType } ? z.output<S> : unknown;
type JsonOf<A> = A extends { content: { 'application/json': { schema: infer S extends z.ZodType } } }
  ? z.input<S>
  : never;
type Value<O> = JsonOf<O[keyof O]>;

/** Request whose outcome becomes a response with the status, headers and JSON of its route's definition. */
export interface Responder<T> {
  c: Context<Env>;
  deps: RequestDeps;
  respond: (outcome: Outcome<T>) => Response;
}

/** Valid request, with the store of its project. */
interface Call<I, T> extends Responder<T> {
  store: RequestDeps['store'];
  /** Store of all projects: for operators and open routes. */
  wholeStore: Store;
  /** Actor for records. After an approval, use {@link actorOf}. */
  actor: Actor;
  params: Valid<I, 'params'>;
  query: Valid<I, 'query'>;
  headers: Valid<I, 'headers'>;
  body: Valid<I, 'body'>;
}

/** Value with its status, where an operation has several. */
class Reply<T> {
  constructor(
    readonly status: ContentfulStatusCode,
    readonly value: T,
    readonly isReplayed: boolean,
  ) {}
}

/** @param isReplayed true when an earlier request made the value */
export function reply<T>(status: ContentfulStatusCode, value: T, isReplayed = false): Reply<T> {
  return new Reply(status, value, isReplayed);
}

/** Problem of a resource that has a record. */
class Failure<T> {
  readonly isReplayed = false;
  constructor(
    readonly error: MayflyError,
    readonly subjects: Subjects,
    readonly value: T,
  ) {}
}

/** @param value the record, for Location */
export function fail<T>(error: MayflyError, subjects: Subjects, value: T): Failure<T> {
  return new Failure(error, subjects, value);
}

export type Outcome<T> = T | Reply<T> | Failure<T> | Response | undefined;

interface Definition<I extends Parts, O extends Answers> {
  /** Tag of the operation. `@default` that of the file */
  tag?: string;
  /** Required scope; null: any key; `open`: no key. */
  scope: Scope | 'open' | null;
  summary: string;
  description?: string;
  in?: I;
  /** Success responses; a value without a status gets the lowest. */
  out: O;
  /** Returns the header Location, except for a 204 of a DELETE. `@default` none */
  location?: (value: Value<O>) => string | undefined;
  /** Problems beside those of every operation, of bodies and of Idempotency-Keys. */
  problems?: readonly (ErrorCode | Codes)[];
  /** Limit of the body, bytes; null: an unlimited stream. `@default` {@link LIMITS.bodyBytes} */
  limit?: number | null;
  /** Returns a value, which is stripped to its schema, a response, or nothing: 204. */
  handle: (call: Call<I, Value<O>>) => Outcome<Value<O>> | Promise<Outcome<Value<O>>> | Promise<void>;
}

export type Route = (app: App) => void;
type Method = 'get' | 'put' | 'post' | 'patch' | 'delete';

/** Returns a function that defines operations with a tag. */
export function routeOf(ofFile: string) {
  return <I extends Parts, O extends Answers>(
    operationId: string,
    method: Method,
    path: string,
    definition: Definition<I, O>,
  ): Route => {
    return (app) => {
      const { summary, description, tag = ofFile, scope } = definition;
      const texts = { operationId, summary, ...(description !== undefined && { description }), tags: [tag] };
      const { middleware, request } = requestOf(method, definition);
      const security = scope === 'open' && { security: [] };
      const responses = { ...definition.out, ...problems(...problemsOf(method, path, definition)) };
      app.openAPIRegistry.registerPath({ method, path, ...texts, ...security, request, responses });
      const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1');
      app.on(method, [pattern], ...middleware, (c) => answer(c, path, definition));
    };
  };
}

type AnyDefinition = Pick<Definition<Parts, Answers>, 'scope' | 'limit' | 'in' | 'problems'>;

function requestOf(method: Method, { scope, limit = LIMITS.bodyBytes, in: parts = {} }: AnyDefinition) {
  const { params, query = noQuery, headers, body, media } = parts;
  const isEmptyFine = body !== undefined && isOptional(body);
  const json = body && { required: !isEmptyFine, content: { 'application/json': { schema: body } } };
  const middleware = [
    ...(method === 'get' || limit === null ? [] : [limitBody(limit)]),
    ...(body ? [readJson(isEmptyFine)] : []),
    ...(scope === 'open' ? [open] : scope ? [requires(scope)] : []),
  ];
  const request = {
    query,
    ...(params && { params }),
    ...(headers && { headers }),
    ...((media ?? json) && { body: media ?? json }),
  };
  return { middleware, request };
}

function takesSandbox(path: string): boolean {
  return path.startsWith('/v1/sandboxes/{id}');
}

function problemsOf(method: Method, path: string, { in: parts = {}, problems: own = [] }: AnyDefinition) {
  const isReservable = takesSandbox(path) && canBeReserved({ method: method.toUpperCase(), path });
  return [
    ...(parts.body ? [BODY] : []),
    ...(parts.headers && 'idempotency-key' in parts.headers.shape ? [KEYED] : []),
    ...own,
    ...(isReservable ? (['sandbox_not_running'] as const) : []),
  ];
}

async function answer<I extends Parts, O extends Answers>(
  c: Context<Env>,
  path: string,
  definition: Definition<I, O>,
): Promise<Response> {
  const deps = c.get('deps');
  const { in: parts, handle } = definition;
  const valid = await validParts(c, parts ?? {});
  const { applied } = preferenceOf(c.req.header('prefer'));
  if (applied !== null && parts?.headers && 'prefer' in parts.headers.shape) c.header('Preference-Applied', applied);
  if (valid.params && takesSandbox(path)) valid.params['id'] = await resolveSandboxId(c, String(valid.params['id']));
  const wholeStore = c.get('wholeStore');
  const respond = (outcome: Outcome<Value<O>>) => responseOf(c, definition, outcome);
  const call = {
    c,
    deps,
    respond,
    store: deps?.store,
    wholeStore,
    ...valid,
    get actor() {
      return actorOf(c);
    },
  };
  return respond((await handle(call as Call<I, Value<O>>)) ?? undefined);
}

function responseOf<I extends Parts, O extends Answers>(
  c: Context<Env>,
  { out, location }: Definition<I, O>,
  outcome: Outcome<Value<O>>,
): Response {
  if (outcome instanceof Response) return outcome;
  if (outcome === undefined) return c.body(null, 204);
  const usual = Number(Object.keys(out)[0]) as ContentfulStatusCode;
  const answered = outcome instanceof Reply || outcome instanceof Failure ? outcome : reply(usual, outcome);
  const isLeft = answered instanceof Failure || answered.status !== 200 || c.req.method !== 'DELETE';
  const place = isLeft ? location?.(answered.value) : undefined;
  if (place !== undefined) c.header('Location', place);
  if (answered.isReplayed) c.header(REPLAYED, 'true');
  if (answered instanceof Failure) return problemResponse(c, answered.error, answered.subjects);
  const { status, value } = answered;
  const json = stringifyRaw(strip(schemaOf(out[status]), value));
  return c.body(json, status, { 'Content-Type': 'application/json' });
}

/** @throws MayflyError invalid_request, invalid_id */
async function validParts({ req }: Context<Env>, { params, query = noQuery, headers, body }: Parts) {
  const queries = Object.entries(req.queries()).map(([name, all]) => [name, all.length === 1 ? all[0] : all]);
  return {
    query: parsePart('query', query, Object.fromEntries(queries)),
    params: params && parsePart('path', params, req.param()),
    headers: headers && parsePart('header', headers, req.header()),
    body: body && parsePart('body', body, await req.json()),
  };
}

function schemaOf(answered: Answers[number] | undefined): z.ZodType {
  const media = answered && 'content' in answered ? answered.content?.['application/json'] : undefined;
  if (media && 'schema' in media && media.schema instanceof z.ZodType) return media.schema;
  throw new TypeError('an answer without a schema');
}
