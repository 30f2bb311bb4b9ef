import { MayflyError } from '../../model/errors.ts';
import { toGuestError } from '../guests.ts';
import { touchWhileStreaming } from '../sandboxes/awake-sandbox.ts';
import type { ServiceDeps } from '../service-deps.ts';
import type { Caller, KeyWatch } from '../streams/streams.ts';

interface Connection {
  sandboxId: string;
  hostId: string;
  port: number;
  body: ReadableStream<Uint8Array> | null;
  /** Fires when the caller disconnects. */
  left: AbortSignal;
}

/**
 * Opens a connection to a port of an awake sandbox. It ends when the caller's key is revoked.
 * @returns the program's output
 * @throws MayflyError port_closed, port_refused, too_many_requests, host_unavailable, guest_unreachable
 */
export async function connectPort(
  deps: Pick<ServiceDeps, 'store' | 'guests'>,
  keys: KeyWatch,
  caller: Caller,
  { sandboxId, hostId, port, body, left }: Connection,
): Promise<ReadableStream<Uint8Array>> {
  const stop = new AbortController();
  const over = keys.endWithKey(caller, () => stop.abort(new Error('the key was revoked')));
  left.addEventListener('abort', () => stop.abort(left.reason), { once: true });
  stop.signal.addEventListener('abort', over, { once: true });
  if (left.aborted) stop.abort(left.reason);
  try {
    const response = await deps.guests.request(hostId, `/ports/${sandboxId}/${port}`, {
      method: 'POST',
      body: body ? touchWhileStreaming(deps, sandboxId, body) : new Uint8Array(),
      signal: stop.signal,
    });
    if (!response.ok) throw await toGuestError(response);
    if (!response.body) throw new MayflyError('guest_failed', 'The host opened a connection without bytes.');
    return ReadableStream.from(until(over, touchWhileStreaming(deps, sandboxId, response.body)));
  } catch (error) {
    over();
    throw error;
  }
}

async function* until(over: () => void, bytes: ReadableStream<Uint8Array>) {
  try {
    yield* bytes;
  } finally {
    over();
  }
}
