import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import type { Registry } from 'prom-client';
import type { McpServerOf } from '../../mcp/http/mcp-door.ts';
import type { ApiKey } from '../../model/access/api-key.ts';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { PortAddress } from '../../model/ports/port-address.ts';
import { DEFAULT_PROJECT } from '../../model/project.ts';
import type { Actor, SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { grants, type Scope } from '../../model/scopes.ts';
import type { Screens } from '../../services/desktop/screens.ts';
import type { IdempotentCall } from '../../services/idempotent-call.ts';
import type { Acceptance } from '../../services/intake/acceptance.ts';
import type { AuditThrottle } from '../../services/ports/audit-throttle.ts';
import type { RunWatch } from '../../services/runs/run-watch.ts';
import type { ServiceDeps } from '../../services/service-deps.ts';
import type { Streams } from '../../services/streams/streams.ts';
import { type WaitLimit, waitWithin } from '../../services/waiting.ts';
import type { Store } from '../../store/connect.ts';
import { type ProjectStore, storeOf } from '../../store/project-store.ts';

/** Marks a route that takes no key. */
export const open = createMiddleware<Env>((_c, next) => next());

const BEARER = /^Bearer +(\S+)$/i;

/**
 * Lets only holders of a valid key pass but to open paths, and gives them the store as their project sees it. Keys are read
 * from the store each time, so a revoked one ends at once.
 * @throws MayflyError unauthenticated
 */
export function authenticate(app: App, deps: Omit<RequestDeps, 'store'> & Pick<AppDeps, 'store'>) {
  const { store } = deps;
  let openPaths: RegExp[] | undefined;
  return createMiddleware<Env>(async (c, next) => {
    c.set('wholeStore', store);
    openPaths ??= openPathsOf(app);
    if (openPaths.some((path) => path.test(c.req.path))) return next();
    const presented = presentedKey(c);
    if (!presented) throw new MayflyError('unauthenticated', 'The request carries no API key.');
    const apiKey = await store.apiKeys.authenticate(presented);
    if (!apiKey || !(await isOfProject(store, apiKey))) {
      throw new MayflyError('unauthenticated', 'The API key is not valid, or was revoked.');
    }
    const viewer = { project: apiKey.project, isOperator: grants(apiKey.scopes, 'operator') };
    c.set('apiKey', apiKey);
    c.set('deps', { ...deps, store: storeOf(store, viewer) });
    return next();
  });
}

function openPathsOf({ routes }: App): RegExp[] {
  const paths = routes.filter(({ handler }) => handler === open).map(({ path }) => path.replaceAll('.', '\\.'));
  return [...new Set(paths)].map((path) => new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`));
}

/** The API key that a request carries, whether it is one or not. */
export function presentedKey(c: Context<Env>): string | undefined {
  return BEARER.exec(c.req.header('Authorization') ?? '')?.[1] ?? c.req.header('X-API-Key');
}

/** Whether there is its project still. */
async function isOfProject({ projects }: AppDeps['store'], { project }: ApiKey): Promise<boolean> {
  return project === DEFAULT_PROJECT || (await projects.lately(project)) !== null;
}

/** @throws MayflyError forbidden */
export function requires(scope: Scope) {
  return createMiddleware<Env>(async (c, next) => {
    if (!grants(c.get('apiKey').scopes, scope)) {
      throw new MayflyError('forbidden', `The API key ${c.get('apiKey').id} lacks the scope \`${scope}\`.`);
    }
    return next();
  });
}

/** Who asks, as it is recorded. */
export function actorOf(c: Context<Env>, agentId: string | null = null): Actor {
  const { id, project } = c.get('apiKey');
  const approvalId = c.get('call')?.approvalId ?? null;
  return { apiKeyId: id, agentId, project, ...(approvalId !== null && { approvalId }) };
}

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

interface Preference {
  /** How long the caller waits for the end of the saga. Seconds; 0: not at all. */
  seconds: number;
  /** What to say in `Preference-Applied`; null when nothing was preferred. */
  applied: string | null;
}

/**
 * How long to wait, from the header `Prefer` (RFC 7240 §4.1 and §4.3). A preference that cannot be read is ignored,
 * as §2 says; a longer wait than we grant is cut. `@default` 60 s
 */
export function preferenceOf(prefer: string | undefined): Preference {
  const preferences = (prefer ?? '').split(',').map((text) => text.trim().toLowerCase());
  const waits = preferences.map((text) => /^wait\s*=\s*"?(\d{1,9})"?\s*(?:;.*)?$/.exec(text)?.[1]);
  const wait = waits.find((seconds) => seconds !== undefined);
  if (wait !== undefined) {
    const seconds = Math.min(Number(wait), LIMITS.waitSeconds.max);
    return { seconds, applied: `wait=${seconds}` };
  }
  if (preferences.includes('respond-async')) return { seconds: 0, applied: 'respond-async' };
  return { seconds: LIMITS.waitSeconds.default, applied: null };
}

/** Returns a limit of so many seconds, less those that the caller has waited for an approval. */
export function waitLimit(c: Context<Env>, seconds: number): WaitLimit {
  const { signal } = c.req.raw;
  return { seconds: seconds - (c.get('waitedSeconds') ?? 0), signal, requestId: c.get('requestId') };
}

export function preferredWait(c: Context<Env>): WaitLimit {
  return waitLimit(c, preferenceOf(c.req.header('prefer')).seconds);
}

/** Waits as long as the caller prefers. @returns whether `wait` resolved */
export function waitAsPreferred(c: Context<Env>, wait: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
  return waitWithin(c.get('deps'), preferredWait(c), wait);
}
