import { randomInt } from 'node:crypto';
import { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { PortAddress } from '../../model/ports/port-address.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { toGuestError } from '../guests.ts';
import { ensureOpen, issueTokenOf } from '../ports/opened-port.ts';
import { TOKEN_NAME } from '../ports/port-token.ts';
import { DESKTOP_PORTS } from '../ports/refuse-typing.ts';
import { openTunnel } from '../ports/tunnel.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { ProtocolError } from './rfb/byte-reader.ts';
import { PASSWORD_BYTES, PASSWORD_FILE_BYTES, type Passwords, passwordFile, passwordsOf } from './rfb/password.ts';
import { VncClient, type Wire } from './rfb/screen.ts';

/** Path of a guest's passwords, base64url, which exists where there is a desktop. The file API never returns it. */
export const PASSWORD_PATH = Buffer.from('/var/lib/mayfly-desktop/passwd').toString('base64url');
/** Limit of all work on one connection, ms. */
const CONNECTION_LIMIT_MS = 60_000;
/** Poll interval while a desktop starts, ms. */
const POLL_MS = 500;

/** Sandbox that is awake. */
export interface AwakeSandbox {
  sandboxId: string;
  hostId: string;
  /** Time that its desktop may take to start, s. */
  seconds: number;
  /** Fires when the caller disconnects. */
  signal: AbortSignal;
}

/** Connections to guests' screens, with a limit of open ones. */
export class Screens {
  #open = 0;

  constructor(private readonly most: number = LIMITS.desktop.screens) {}

  /**
   * Connects to a screen for as long as `use` runs.
   * @throws MayflyError no_desktop, desktop_unavailable, too_many_requests, and connection errors of the guest
   */
  async with<T>(
    deps: Pick<ServiceDeps, 'guests'>,
    place: AwakeSandbox,
    use: (screen: VncClient) => Promise<T>,
  ): Promise<T> {
    if (this.#open >= this.most) {
      throw new MayflyError('too_many_requests', `${this.#open} screens are looked at already.`, {
        retryAfterSeconds: 1,
      });
    }
    this.#open++;
    try {
      return await withConnection(deps, place, DESKTOP_PORTS.screen, async (wire) => {
        const screen = await VncClient.open(wire, async () => (await passwords(deps, place)).control);
        return use(screen);
      });
    } finally {
      this.#open--;
    }
  }
}

/** @throws MayflyError no_desktop */
async function passwords(
  deps: Pick<ServiceDeps, 'guests'>,
  { sandboxId, hostId, signal }: AwakeSandbox,
): Promise<Passwords> {
  const response = await deps.guests.request(hostId, passwordPath(sandboxId), { signal });
  if (!response.ok) {
    const refusal = await toGuestError(response);
    throw refusal.code === 'file_not_found' ? noDesktop(sandboxId) : refusal;
  }
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    parts.push(part);
    length += part.length;
    if (length > PASSWORD_FILE_BYTES) break;
  }
  const file = Buffer.concat(parts);
  if (file.length === PASSWORD_FILE_BYTES) return passwordsOf(file);
  throw new ProtocolError(`its file of passwords has not ${PASSWORD_FILE_BYTES} bytes`);
}

function passwordPath(sandboxId: string): string {
  return `/sandboxes/${sandboxId}/agent/v1/files?path=${PASSWORD_PATH}`;
}

function noDesktop(sandboxId: string): MayflyError {
  return new MayflyError('no_desktop', `${sandboxId} was made of a source without one.`);
}

/**
 * Runs `use` with a connection to a port of a desktop, then closes it.
 * @throws MayflyError no_desktop, desktop_unavailable
 */
export async function withConnection<T>(
  deps: Pick<ServiceDeps, 'guests'>,
  place: AwakeSandbox,
  port: number,
  use: (wire: Wire) => Promise<T>,
): Promise<T> {
  // Not AbortSignal.any with AbortSignal.timeout: Node 20 may garbage-collect both before they fire.
  const over = new AbortController();
  let isLate = false;
  const timer = setTimeout(
    () => {
      isLate = true;
      over.abort();
    },
    place.seconds * 1_000 + CONNECTION_LIMIT_MS,
  );
  const onAbort = () => over.abort(place.signal.reason);
  place.signal.addEventListener('abort', onAbort, { once: true });
  if (place.signal.aborted) onAbort();
  try {
    return await use(wireOf(await connectWhenReady(deps, { ...place, signal: over.signal }, port)));
  } catch (error) {
    if (error instanceof MayflyError) throw error;
    place.signal.throwIfAborted();
    if (isLate)
      throw unavailable(place.sandboxId, `it has not answered within ${CONNECTION_LIMIT_MS / 1_000} s`, error);
    if (error instanceof ProtocolError) throw unavailable(place.sandboxId, error.message, error);
    throw error;
  } finally {
    clearTimeout(timer);
    place.signal.removeEventListener('abort', onAbort);
    over.abort();
  }
}

function unavailable(sandboxId: string, why: string, cause: unknown): MayflyError {
  return new MayflyError('desktop_unavailable', `The desktop of ${sandboxId}: ${why}.`, { cause });
}

/** Connects to a port, and polls while the desktop starts. Fails at once where there is none. */
async function connectWhenReady(deps: Pick<ServiceDeps, 'guests'>, place: AwakeSandbox, port: number): Promise<Duplex> {
  const deadline = performance.now() + place.seconds * 1_000;
  for (let isKnown = false; ; ) {
    const refusal = await openTunnel(deps.guests, { ...place, port }).catch((error: unknown) => error);
    if (refusal instanceof Duplex) return refusal;
    if (!isMayflyError(refusal, 'port_closed')) throw refusal;
    if (!isKnown) await assertDesktop(deps, place);
    isKnown = true;
    if (performance.now() > deadline) throw unavailable(place.sandboxId, 'it has not started yet', refusal);
    await sleep(POLL_MS, undefined, { signal: place.signal });
  }
}

/** @throws MayflyError no_desktop */
async function assertDesktop(
  deps: Pick<ServiceDeps, 'guests'>,
  { sandboxId, hostId, signal }: AwakeSandbox,
): Promise<void> {
  const answer = await deps.guests.request(hostId, passwordPath(sandboxId), { method: 'HEAD', signal });
  if (answer.ok) return;
  const refusal = await toGuestError(answer);
  throw refusal.code === 'file_not_found' ? noDesktop(sandboxId) : refusal;
}

function wireOf(tunnel: Duplex): Wire {
  return {
    write: (bytes) => void tunnel.write(bytes),
    end: () => void tunnel.end(),
    incoming: bytesOf(tunnel),
  };
}

async function* bytesOf(tunnel: Duplex): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* tunnel;
  } catch (cause) {
    throw new ProtocolError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** Letters and digits without those that look alike: 8 of them have 45 bits, and each guess takes a connection. */
const LETTERS = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';

/** Settings for a browser with the token. */
const OPENED = { visibility: 'token', host: 'localhost', cors: false, wake: false } as const;

/**
 * Replaces the password of a mode, which invalidates the previous one, and returns a URL of noVNC.
 * @throws MayflyError no_desktop, guest_failed, port_open, ports_full
 */
export async function openStream(
  deps: Pick<ServiceDeps, 'store' | 'sagas' | 'guests'> & { portAddress: PortAddress },
  actor: Actor,
  place: AwakeSandbox,
  { mode, ttlSeconds }: { mode: 'view' | 'control'; ttlSeconds: number },
) {
  const { sandboxId } = place;
  const before = await passwords(deps, place);
  const port = DESKTOP_PORTS.noVnc;
  const { opened } = await ensureOpen(deps, actor, { sandboxId, port }, OPENED);
  const password = Array.from({ length: PASSWORD_BYTES }, () => LETTERS[randomInt(LETTERS.length)]).join('');
  const file = passwordFile({ ...before, [mode]: password });
  const options = { method: 'PUT', body: file, signal: place.signal } as const;
  const written = await deps.guests.request(place.hostId, passwordPath(sandboxId), options);
  if (!written.ok) throw await toGuestError(written);
  const { token, expiresAt } = await issueTokenOf(deps, actor, opened, ttlSeconds);
  const query = new URLSearchParams({ [TOKEN_NAME]: token, autoconnect: '1', reconnect: '1', resize: 'scale' });
  if (mode === 'view') query.set('view_only', '1');
  const url = `${deps.portAddress.originOf(opened)}/vnc.html?${query.toString()}`;
  return { mode, password, port, url, expiresAt };
}
