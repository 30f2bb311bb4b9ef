import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { refusalOf } from '../../services/guests.ts';
import { inUse } from '../../services/sandboxes/in-use.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { preferenceOf } from '../http/prefer.ts';
import { recordAccess } from '../resources/record-access.ts';
import { sandboxOfPath } from '../resources/sandbox-of-path.ts';
import { awakeSandbox } from '../sandboxes/awake-sandbox.ts';
import { SSH_PORT } from './port-schemas.ts';
import { refuseTypingBy } from './refuse-typing.ts';

interface Wanted {
  sandboxId: string;
  port: number;
}

/**
 * POST …/ports/{port}/connect.
 * @throws MayflyError policy_denied, port_closed, port_refused, too_many_requests, and as {@link awakeSandbox}
 */
export async function answerConnect(
  c: Context<Env>,
  deps: RequestDeps,
  { sandboxId, port }: Wanted,
): Promise<Response> {
  if (port === SSH_PORT) throw new MayflyError('port_refused', `Port ${port} is not passed on.`);
  await refuseTypingBy(port, deps, (await sandboxOfPath(c, deps, sandboxId)).project);
  const { hostId } = await awakeSandbox(c, deps, sandboxId, preferenceOf(c.req.header('prefer')).seconds);
  await deps.store.activity.touch(sandboxId);
  await deps.connections.once({ by: c.get('apiKey').id, sandboxId, port }, () =>
    recordAccess(c, deps, sandboxId, { kind: 'port.connected', hostId, detail: { port } }),
  );
  const { body, signal: left } = c.req.raw;
  const stop = new AbortController();
  const over = deps.streams.keys.endWithKey(c.var, () => stop.abort(new Error('the key was revoked')));
  left.addEventListener('abort', () => stop.abort(left.reason), { once: true });
  stop.signal.addEventListener('abort', over, { once: true });
  if (left.aborted) stop.abort(left.reason);
  try {
    const response = await deps.guests.request(hostId, `/ports/${sandboxId}/${port}`, {
      method: 'POST',
      body: body ? inUse(deps, sandboxId, body) : new Uint8Array(),
      signal: stop.signal,
    });
    if (!response.ok) throw await refusalOf(response);
    const bytes = ReadableStream.from(until(over, inUse(deps, sandboxId, bodyOf(response))));
    return new Response(bytes, {
      headers: { 'Content-Type': 'application/octet-stream', 'Cache-Control': 'no-store' },
    });
  } catch (error) {
    over();
    throw error;
  }
}

function bodyOf({ body }: Response): ReadableStream<Uint8Array> {
  if (body) return body;
  throw new MayflyError('guest_failed', 'The host opened a connection without bytes.');
}

async function* until(over: () => void, bytes: ReadableStream<Uint8Array>) {
  try {
    yield* bytes;
  } finally {
    over();
  }
}
