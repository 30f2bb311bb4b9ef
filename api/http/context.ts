import type { OpenAPIHono } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import type { Registry } from 'prom-client';
import type { McpServerOf } from '../../mcp/http/mcp-door.ts';
import type { ApiKey } from '../../model/access/api-key.ts';
import type { PortAddress } from '../../model/ports/port-address.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import type { Screens } from '../../services/desktop/screens.ts';
import type { IdempotentCall } from '../../services/idempotent-call.ts';
import type { Acceptance } from '../../services/intake/acceptance.ts';
import type { AuditThrottle } from '../../services/ports/audit-throttle.ts';
import type { RunWatch } from '../../services/runs/run-watch.ts';
import type { ServiceDeps } from '../../services/service-deps.ts';
import type { Streams } from '../../services/streams/streams.ts';
import type { Store } from '../../store/connect.ts';
import type { ProjectStore } from '../../store/project-store.ts';

/** Where signed events from outside come in. */
interface HookPlace {
  /** As senders call it; null: as the API is called. */
  url: string | null;
  /** False: another server has them, and the API has none. */
  isHere: boolean;
}

/** What the API is made of; only worker/ puts it together. */
export interface AppDeps extends Omit<ServiceDeps, 'store' | 'poolDoor'> {
  store: Store;
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
  mcpServerOf?: McpServerOf;
  /** How soon what comes to a hook is answered, unless it is large. Milliseconds. `@default` 1 s */
  hookAnswerMs?: number;
}

/** What a route is given: of the store, what the caller may see. */
export interface RequestDeps extends Omit<AppDeps, 'store' | 'portAddress'>, ServiceDeps {
  store: ProjectStore;
  portAddress: PortAddress;
  acceptance: Acceptance;
  runWatch: RunWatch;
  streams: Streams;
  screens: Screens;
  /** Of connections to ports. */
  connections: AuditThrottle;
  /** Of views of desktops. */
  looks: AuditThrottle;
}

/** What middleware leaves for handlers. */
export interface Env {
  Variables: {
    requestId: string;
    apiKey: ApiKey;
    deps: RequestDeps;
    wholeStore: Store;
    /** The sandbox of the path, as it was when the request was complete. */
    found?: SandboxRecord;
    /** The request as services see it, where it has a result of its own. */
    call?: IdempotentCall;
    /** How long of what the caller prefers to wait is over. Seconds. */
    waitedSeconds?: number;
    /** The path with the id of a sandbox in the place of its name, where it was asked for by that. */
    pathById?: string;
  };
}

export type App = OpenAPIHono<Env>;
