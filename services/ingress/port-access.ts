import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { PortAddress } from '../../model/ports/port-address.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { isSuspended } from '../../model/sandbox/sandbox-state.ts';
import { grants } from '../../model/scopes.ts';
import type { Store } from '../../store/connect.ts';
import { createProjectStore } from '../../store/project-store.ts';
import type { ApiWorkflows } from '../../temporal/temporal-sagas.ts';
import type { Guests } from '../guests.ts';
import { AuditThrottle } from '../ports/audit-throttle.ts';
import { readPortToken } from '../ports/port-token.ts';
import { assertPortTypingAllowed } from '../ports/refuse-typing.ts';
import { openTunnel } from '../ports/tunnel.ts';
import { assertRunning, awaitResume, type RunningSandbox, startResume } from '../sandboxes/awake-sandbox.ts';
import { requireSandbox } from '../service-deps.ts';
import { cookiesOf, KEY_HEADER, type PortRoute, parseRoute, TOKEN_HEADER } from './headers.ts';
import { type OpenPort, PortCache } from './known-ports.ts';
import { portNotFound } from './refusal.ts';
import { TokenBuckets } from './token-buckets.ts';
import { Traffic } from './traffic.ts';

export interface IngressDeps {
  store: Store;
  sagas: ApiWorkflows;
  guests: Guests;
  addresses: PortAddress;
  logger: Pick<Logger, 'error'>;
}

/** Authorized request to a port. */
export interface AuthorizedRequest {
  route: PortRoute;
  known: OpenPort;
  principal: Principal;
}

/** Limit of the wait for a resume, ms. */
const RESUME_MS = LIMITS.waitSeconds.default * 1_000;

/** Access of requests to open ports, and the connections to their programs. */
export class PortAccess {
  readonly traffic: Traffic;
  readonly #known: PortCache;
  readonly #throttle = new AuditThrottle();
  /** Rate limit per address, of store reads that find nothing. */
  readonly #guesses = new TokenBuckets(LIMITS.ports.guessesPerSecond);

  constructor(private readonly deps: IngressDeps) {
    this.#known = new PortCache(deps.store);
    this.traffic = new Traffic(this.#known);
  }

  /**
   * Returns the port of a request; null when it is not open.
   * @throws MayflyError too_many_requests when the caller's address has used up its guesses and the port is not cached
   */
  async portOf(incoming: IncomingMessage): Promise<Pick<AuthorizedRequest, 'route' | 'known'> | null> {
    const route = parseRoute(incoming, this.deps.addresses);
    if (!route) return null;
    if (this.#known.remembers(route)) return this.#getRoutePort(route);
    const from = addressOf(incoming);
    if (!this.#guesses.take(from)) {
      const why = `More than ${LIMITS.ports.guessesPerSecond} requests a second from ${from} are for ports that are not open.`;
      throw new MayflyError('too_many_requests', why, { retryAfterSeconds: 1 });
    }
    const found = await this.#getRoutePort(route);
    if (found) this.#guesses.release(from);
    return found;
  }

  async #getRoutePort(route: PortRoute): Promise<Pick<AuthorizedRequest, 'route' | 'known'> | null> {
    const known = await this.#known.of(route);
    return known && { route, known };
  }

  /** @throws MayflyError not_found, too_many_requests */
  async admit(
    incoming: IncomingMessage,
    found: Pick<AuthorizedRequest, 'route' | 'known'> | null,
  ): Promise<AuthorizedRequest> {
    const { store, addresses } = this.deps;
    const doors = { known: this.#known, store, addresses };
    if (!found) throw portNotFound();
    const { route } = found;
    let { known } = found;
    let principal = await verifyPrincipal(incoming, route, known, doors);
    const from = addressOf(incoming);
    if (!principal && this.#guesses.take(from)) {
      // The port may have been reopened a moment ago, with another secret.
      known = (await this.#known.readNow(route)) ?? known;
      principal = await verifyPrincipal(incoming, route, known, doors);
      if (principal) this.#guesses.release(from);
    }
    if (!principal) throw portNotFound();
    this.traffic.count(route);
    return { route, known, principal };
  }

  /**
   * Opens a connection to the program; records it in the audit and the idle time of the sandbox.
   * @param signal ends the connection at any time
   * @throws MayflyError policy_denied, sandbox_suspended, sandbox_not_running, errors of the resume, and as
   *   {@link openTunnel}
   */
  async connect(entry: AuthorizedRequest, signal: AbortSignal): Promise<Duplex> {
    const { store, guests, sagas } = this.deps;
    const { sandboxId, port } = entry.route;
    const own = createProjectStore(store, { project: entry.known.port.project, isOperator: false });
    await assertPortTypingAllowed(port, { store: own }, entry.known.port.project);
    const { hostId } = await this.#awake(entry, signal);
    await store.activity.touch(sandboxId);
    const { actor, tokenId } = entry.principal;
    await this.#throttle.once({ by: tokenId ?? actor.apiKeyId, sandboxId, port }, () =>
      sagas.sandboxes.recordEvent(sandboxId, {
        eventId: randomUUID(),
        kind: 'port.connected',
        actor,
        runId: null,
        hostId,
        at: new Date().toISOString(),
        detail: { port, tokenId },
      }),
    );
    // Without the store no hibernation for idleness happens either.
    const onBytes = () => void store.activity.touch(sandboxId).catch(() => {});
    return openTunnel(guests, { hostId, sandboxId, port, signal, passed: onBytes });
  }

  async #awake(
    { route: { sandboxId }, known: { port, sandbox }, principal }: AuthorizedRequest,
    signal: AbortSignal,
  ): Promise<RunningSandbox> {
    if (!isSuspended(sandbox.state) || !port.wake) return assertRunning(sandbox);
    const deps = {
      sagas: this.deps.sagas,
      store: createProjectStore(this.deps.store, { project: port.project, isOperator: false }),
    };
    const waiting = new AbortController();
    const stop = () => waiting.abort(signal.reason);
    const late = setTimeout(stop, RESUME_MS);
    signal.addEventListener('abort', stop, { once: true });
    try {
      const operationId = await startResume(deps, sandboxId, principal.actor);
      await awaitResume(deps, { id: sandboxId, operationId, actor: principal.actor }, waiting.signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!waiting.signal.aborted) throw error;
    } finally {
      clearTimeout(late);
      signal.removeEventListener('abort', stop);
    }
    return assertRunning(await requireSandbox(deps, sandboxId));
  }
}

/** Returns the address of the peer: the proxy's, where one is in front. */
function addressOf({ socket }: IncomingMessage): string {
  return socket.remoteAddress ?? '';
}

/** Principal that may use a port, and the credential that verified it. */
interface Principal {
  /** API key that was sent, or for which the token was issued. */
  actor: Actor;
  /** Null for a key. */
  tokenId: string | null;
  /** Expiry, ms since 1970; null: none. */
  expiresAt: number | null;
}

interface CredentialDeps {
  known: PortCache;
  store: Pick<Store, 'apiKeys'>;
  addresses: PortAddress;
}

/** Returns the principal of a request; null when it may not use this port. */
async function verifyPrincipal(
  incoming: IncomingMessage,
  route: PortRoute,
  { port, sandbox }: OpenPort,
  doors: CredentialDeps,
): Promise<Principal | null> {
  if (port.visibility === 'project') return verifyKey(incoming, sandbox.project, doors);
  const token = presentedToken(incoming, route, doors.addresses);
  const claims = token === undefined ? null : readPortToken(port, token);
  const key = claims && (await doors.known.keyOf(claims.apiKeyId));
  if (!claims || !key) return null;
  const actor = { apiKeyId: key.id, agentId: null, project: key.project };
  return { actor, tokenId: claims.id, expiresAt: claims.expires * 1_000 };
}

/** Returns the token of a request. A header or query precedes a cookie, which browsers add by themselves. */
function presentedToken(incoming: IncomingMessage, route: PortRoute, addresses: PortAddress): string | undefined {
  const said = incoming.headers[TOKEN_HEADER] ?? route.token;
  if (said !== undefined) return String(said);
  const mayUseCookie = route.form === 'host' && isSameOrigin(incoming, addresses.originOf(route));
  return mayUseCookie ? cookiesOf(incoming.headers.cookie).own : undefined;
}

/**
 * Reports whether a browser's request is a navigation, or comes from a page of this very host name. Browsers may treat
 * all guests as one site, and send the cookie with requests of another guest's page.
 */
function isSameOrigin({ headers, method }: IncomingMessage, origin: string): boolean {
  const site = headers['sec-fetch-site'];
  const goesThere = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  if (goesThere && (method === 'GET' || method === 'HEAD')) return true;
  if (headers.origin !== undefined && headers.origin !== origin) return false;
  return site === undefined || site === 'same-origin' || site === 'none';
}

async function verifyKey(
  incoming: IncomingMessage,
  project: string,
  { store }: CredentialDeps,
): Promise<Principal | null> {
  const presented = incoming.headers[KEY_HEADER];
  const key = typeof presented === 'string' ? await store.apiKeys.authenticate(presented) : null;
  if (!key || !grants(key.scopes, 'sandboxes:write')) return null;
  if (key.project !== project && !grants(key.scopes, 'operator')) return null;
  return { actor: { apiKeyId: key.id, agentId: null, project: key.project }, tokenId: null, expiresAt: null };
}
