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
import type { EventIntake } from '../../services/intake/acceptance.ts';
import type { AuditThrottle } from '../../services/ports/audit-throttle.ts';
import type { RunWatch } from '../../services/runs/run-watch.ts';
import type { ServiceDeps } from '../../services/service-deps.ts';
import type { Streams } from '../../services/streams/streams.ts';
import { type WaitLimit, waitWithin } from '../../services/waiting.ts';
import type { Store } from '../../store/connect.ts';
import { createProjectStore, type ProjectStore } from '../../store/project-store.ts';

/** Marks a route that takes no key. */
export const open = createMiddleware<Env>((_c, next) => next());

const BEARER = /^Bearer +(\S+)$/i;

/**
 * Requires a valid key except on open paths, and provides its project's store. Reads keys from the store each time, so
 * a revocation applies at once.
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
    c.set('deps', { ...deps, store: createProjectStore(store, viewer) });
    return next();
  });
}

function openPathsOf({ routes }: App): RegExp[] {
  const paths = routes.filter(({ handler }) => handler === open).map(({ path }) => path.replaceAll('.', '\\.'));
  return [...new Set(paths)].map((path) => new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`));
}

/** Returns the API key of a request, unverified. */
export function presentedKey(c: Context<Env>): string | undefined {
  return BEARER.exec(c.req.header('Authorization') ?? '')?.[1] ?? c.req.header('X-API-Key');
}

/** Reports whether the key's project still exists. */
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

/** Returns the actor for records. */
export function actorOf(c: Context<Env>, agentId: string | null = null): Actor {
  const { id, project } = c.get('apiKey');
  const approvalId = c.get('call')?.approvalId ?? null;
  return { apiKeyId: id, agentId, project, ...(approvalId !== null && { approvalId }) };
}

/** Address of signed events from outside. */
interface HookAddress {
  /** Public base URL; null: the API's own. */
  url: string | null;
  /** False when another server of the process serves hooks. */
  isHere: boolean;
}

/** Dependencies of the API, which worker/ wires. */
export interface AppDeps extends Omit<ServiceDeps, 'store' | 'poolDoor'> {
  store: Store;
  /** Further checks for /readyz by name, beside store, Temporal and a live host; each rejects when it fails. */
  readiness?: Record<string, () => Promise<void>>;
  /** Registry that other parts of the process share. */
  metrics?: Registry;
  /** Middleware that traces each request. `@default` none */
  traceRequest?: MiddlewareHandler<Env>;
  version: string;
  /** Host names of MCP clients' requests, beside those of the loopback. `@default` none */
  names?: readonly string[];
  /** Public address of open ports. `@default` `http://localhost:7997`, with a host name for each port below it */
  portAddress?: PortAddress;
  /** Address of hooks. `@default` the API's */
  hookPlace?: HookAddress;
  /** Creates the server of an MCP client. `@default` Mayfly's own tools */
  mcpServerOf?: McpServerOf;
  /** Limit of the time to a hook's response, ms, unless the event is large. `@default` 1 s */
  hookAnswerMs?: number;
}

/** Dependencies of a route; the store is limited to the caller's project. */
export interface RequestDeps extends Omit<AppDeps, 'store' | 'portAddress'>, ServiceDeps {
  store: ProjectStore;
  portAddress: PortAddress;
  acceptance: EventIntake;
  runWatch: RunWatch;
  streams: Streams;
  screens: Screens;
  /** Throttle for connections to ports. */
  connections: AuditThrottle;
  /** Throttle for views of desktops. */
  looks: AuditThrottle;
}

/** Variables that middleware sets for handlers. */
export interface Env {
  Variables: {
    requestId: string;
    apiKey: ApiKey;
    deps: RequestDeps;
    wholeStore: Store;
    /** Sandbox of the path, read when the request was complete. */
    found?: SandboxRecord;
    /** Idempotent call behind the request, where it has a result of its own. */
    call?: IdempotentCall;
    /** Used part of the preferred wait, s. */
    waitedSeconds?: number;
    /** Path with the id of a sandbox in place of its name; unset when the path has the id. */
    pathById?: string;
  };
}

export type App = OpenAPIHono<Env>;

interface Preference {
  /** Time that the caller waits for the end of the workflow, s; 0: none. */
  seconds: number;
  /** Value of `Preference-Applied`; null without a preference. */
  applied: string | null;
}

/**
 * Returns the wait from the header `Prefer` (RFC 7240 §4.1 and §4.3). Ignores an unreadable preference, as §2 requires,
 * and limits a long wait. `@default` 60 s
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

/** Returns a wait limit, less the time that the caller has waited for an approval. */
export function waitLimit(c: Context<Env>, seconds: number): WaitLimit {
  const { signal } = c.req.raw;
  return { seconds: seconds - (c.get('waitedSeconds') ?? 0), signal, requestId: c.get('requestId') };
}

export function preferredWait(c: Context<Env>): WaitLimit {
  return waitLimit(c, preferenceOf(c.req.header('prefer')).seconds);
}

/** Waits as long as the caller prefers. @returns true when `wait` resolved */
export function waitAsPreferred(c: Context<Env>, wait: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
  return waitWithin(c.get('deps'), preferredWait(c), wait);
}
