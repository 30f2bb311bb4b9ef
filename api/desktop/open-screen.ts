import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { END, NOTHING, PieceReader, pieceHeader } from '../../model/ports/pieces.ts';
import type { RequestDeps } from '../http/context.ts';
import { refusalOf } from '../http/guests.ts';
import { ProtocolError } from './rfb/byte-reader.ts';
import { PASSWORD_FILE_BYTES, type Passwords, passwordsOf } from './rfb/password.ts';
import { Screen, type Wire } from './rfb/screen.ts';

/** Ports of a desktop's loopback, as images/root.desktop has them. */
export const DESKTOP_PORTS = { screen: 5_901, look: 5_902, paste: 5_903, noVnc: 6_080 } as const;
/** Where a guest has its passwords, and what says that it has a desktop. */
const PASSWORD_PATH = Buffer.from('/var/lib/mayfly-desktop/passwd').toString('base64url');
/** All that is done with one connection. Milliseconds. */
const ANSWERED_MS = 60_000;
/** How often a desktop that starts is looked for. Milliseconds. */
const POLL_MS = 500;

/** A sandbox that is awake. */
export interface Place {
  sandboxId: string;
  hostId: string;
  /** How long its desktop may take to start. */
  seconds: number;
  /** When the caller goes away. */
  signal: AbortSignal;
}

/** The screens of guests, of which few are open at once. */
export class Screens {
  #open = 0;

  constructor(private readonly most: number = LIMITS.desktop.screens) {}

  /**
   * @param use what is done with it; the connection ends with that
   * @throws MayflyError no_desktop, desktop_unavailable, too_many_requests, and why the guest is not reached
   */
  async with<T>(deps: RequestDeps, place: Place, use: (screen: Screen) => Promise<T>): Promise<T> {
    if (this.#open >= this.most) {
      throw new MayflyError('too_many_requests', `${this.#open} screens are looked at already.`, {
        retryAfterSeconds: 1,
      });
    }
    this.#open++;
    try {
      return await connected(deps, place, DESKTOP_PORTS.screen, async (wire) => {
        const screen = await Screen.open(wire, async () => (await passwords(deps, place)).control);
        return use(screen);
      });
    } finally {
      this.#open--;
    }
  }
}

/** @throws MayflyError no_desktop */
export async function passwords(deps: RequestDeps, { sandboxId, hostId, signal }: Place): Promise<Passwords> {
  const response = await deps.guests.request(hostId, passwordPath(sandboxId), { signal });
  if (!response.ok) {
    const refusal = await refusalOf(response);
    throw refusal.code === 'file_not_found' ? noDesktop(sandboxId) : refusal;
  }
  const parts: Uint8Array[] = [];
  for await (const part of response.body ?? []) {
    parts.push(part);
    if (Buffer.concat(parts).length > PASSWORD_FILE_BYTES) break;
  }
  const file = Buffer.concat(parts);
  if (file.length === PASSWORD_FILE_BYTES) return passwordsOf(file);
  throw new ProtocolError(`its file of passwords has not ${PASSWORD_FILE_BYTES} bytes`);
}

export function passwordPath(sandboxId: string): string {
  return `/sandboxes/${sandboxId}/agent/v1/files?path=${PASSWORD_PATH}`;
}

function noDesktop(sandboxId: string): MayflyError {
  return new MayflyError('no_desktop', `${sandboxId} was made of a source without one.`);
}

/** @throws MayflyError no_desktop, desktop_unavailable */
export async function connected<T>(
  deps: RequestDeps,
  place: Place,
  port: number,
  use: (wire: Wire) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const late = AbortSignal.timeout(place.seconds * 1_000 + ANSWERED_MS);
  const signal = AbortSignal.any([place.signal, over.signal, late]);
  try {
    const { response, ...wire } = await listening(deps, { ...place, signal }, port);
    return await use({ ...wire, incoming: contentOf(response) });
  } catch (error) {
    if (error instanceof MayflyError) throw error;
    place.signal.throwIfAborted();
    if (error instanceof ProtocolError) throw unavailable(place.sandboxId, error.message, error);
    if (late.aborted) throw unavailable(place.sandboxId, `it has not answered within ${ANSWERED_MS / 1_000} s`, error);
    throw error;
  } finally {
    over.abort();
  }
}

function unavailable(sandboxId: string, why: string, cause: unknown): MayflyError {
  return new MayflyError('desktop_unavailable', `The desktop of ${sandboxId}: ${why}.`, { cause });
}

interface Connection {
  write: (bytes: Uint8Array) => void;
  end: () => void;
  response: Response;
}

/** A desktop that starts is waited for; where there is none, that is said at once. */
async function listening(deps: RequestDeps, place: Place, port: number): Promise<Connection> {
  const deadline = performance.now() + place.seconds * 1_000;
  for (let isKnown = false; ; ) {
    const { body, ...wire } = outgoing();
    const path = `/ports/${place.sandboxId}/${port}`;
    const response = await deps.guests.request(place.hostId, path, { method: 'POST', body, signal: place.signal });
    if (response.ok) return { ...wire, response };
    const refusal = await refusalOf(response);
    if (refusal.code !== 'port_closed') throw refusal;
    if (!isKnown) await refuseWithout(deps, place);
    isKnown = true;
    if (performance.now() > deadline) throw unavailable(place.sandboxId, 'it has not started yet', refusal);
    await sleep(POLL_MS, undefined, { signal: place.signal });
  }
}

/** @throws MayflyError no_desktop */
async function refuseWithout(deps: RequestDeps, { sandboxId, hostId, signal }: Place): Promise<void> {
  const answer = await deps.guests.request(hostId, passwordPath(sandboxId), { method: 'HEAD', signal });
  if (answer.ok) return;
  const refusal = await refusalOf(answer);
  throw refusal.code === 'file_not_found' ? noDesktop(sandboxId) : refusal;
}

function outgoing() {
  let send: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      send = controller;
      controller.enqueue(NOTHING); // the head of a request leaves with the first of its body
    },
  });
  const write = (bytes: Uint8Array) => {
    send?.enqueue(pieceHeader(bytes.length));
    send?.enqueue(bytes);
  };
  return { body, write, end: () => send?.enqueue(END) };
}

async function* contentOf({ body }: Response): AsyncGenerator<Uint8Array, void, undefined> {
  const pieces = new PieceReader();
  for await (const chunk of body ?? []) {
    try {
      yield* pieces.read(chunk);
    } catch (cause) {
      throw new ProtocolError(cause instanceof Error ? cause.message : String(cause), { cause });
    }
    if (pieces.isEnded) return;
  }
}
