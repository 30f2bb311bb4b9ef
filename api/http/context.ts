import type { OpenAPIHono, OpenAPIHonoOptions } from '@hono/zod-openapi';
import type { McpServer } from '@modelcontextprotocol/server';
import type { Context, MiddlewareHandler } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Caller } from '../../mcp/call.ts';
import { stringifyRaw } from '../../model/events/json/raw-json.ts';
import type { Waiting } from '../../model/functions/run.ts';
import type { PortAddress } from '../../model/ports/port-address.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import type { Sagas } from '../../sagas/sagas.ts';
import type { ApiKey } from '../../store/access/api-keys.ts';
import type { Store } from '../../store/connect.ts';
import type { ProjectStore } from '../../store/project-store.ts';
import type { PoolDoor } from '../claims/pool-door.ts';
import type { Guests } from './guests.ts';

/** Where signed events from outside come in. */
export interface HookPlace {
  /** As senders call it; null: as the API is called. */
  url: string | null;
  /** False: another server has them, and the API has none. */
  isHere: boolean;
}

/** What the API is made of; only worker/ puts it together. */
export interface AppDeps {
  store: Store;
  sagas: Sagas;
  guests: Guests;
  /** Further names and checks for /readyz, beyond store, Temporal and a live host; each rejects when it fails. */
  readiness?: Record<string, () => Promise<void>>;
  /** Where other parts of the process register their own metrics. */
  metrics?: Registry;
  /** Traces each request, where traces are wanted. */
  traceRequest?: MiddlewareHandler<Env>;
  version: string;
  /** Under which it is reached by MCP clients, beside those of loopback. `@default` none */
  names?: readonly string[];
  /** Where open ports of sandboxes are found. `@default` `http://localhost:7997`, below which each has a name of its own */
  portAddress?: PortAddress;
  /** Where hooks are. `@default` at the API */
  hookPlace?: HookPlace;
  /** Makes what MCP clients speak to. `@default` Mayfly's own tools */
  mcpServerOf?: (caller: Caller) => McpServer;
  /** How soon what comes to a hook is answered, unless it is large. Milliseconds. `@default` 1 s */
  hookAnswerMs?: number;
  /** Of what may wait in the queues of one project, and be queued of one key. `@default` what model/limits.ts says */
  queueLimits?: Waiting & { runsOfKey?: number };
  logger: Logger;
}

/** What a route is given: of the store, what the caller may see. */
export interface RequestDeps extends Omit<AppDeps, 'store'> {
  store: ProjectStore;
  poolDoor: PoolDoor;
}

/** What middleware leaves for handlers. */
export interface Env {
  Variables: {
    requestId: string;
    apiKey: ApiKey;
    deps: RequestDeps;
    /** The sandbox of the path, as it was when the request was complete. */
    found?: SandboxRecord;
    /** What lets it be done, where that was needed. */
    approvalId?: string;
    /** How long of what the caller prefers to wait is over. Seconds. */
    waitedSeconds?: number;
    /** The path with the id of a sandbox in the place of its name, where it was asked for by that. */
    pathById?: string;
  };
}

export type App = OpenAPIHono<Env>;
export type ValidationHook = NonNullable<OpenAPIHonoOptions<Env>['defaultHook']>;

/** Answers with JSON in which each {@link RawJson} stands as it was written. */
export function answerRaw(c: Context<Env>, value: unknown, status: ContentfulStatusCode): never {
  return serialised(c.body(stringifyRaw(value), status, { 'Content-Type': 'application/json' }));
}

/** Passes an answer that is complete already through a route whose type wants to see its JSON. */
export function serialised(response: Response): never {
  return response as never;
}
