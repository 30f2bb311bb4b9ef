import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { refusalOf } from '../http/guests.ts';
import { preferenceOf } from '../http/prefer.ts';
import { inUse } from '../resources/in-use.ts';
import { recordAccess } from '../resources/record-access.ts';
import { awakeSandbox } from '../sandboxes/awake-sandbox.ts';
import { SSH_PORT } from './port-schemas.ts';
import type { SaidConnections } from './said-connections.ts';

interface Wanted {
  sandboxId: string;
  port: number;
  said: SaidConnections;
}

/**
 * POST …/ports/{port}/connect.
 * @throws MayflyError port_closed, port_refused, too_many_requests, and as {@link awakeSandbox}
 */
export async function answerConnect(
  c: Context<Env>,
  deps: RequestDeps,
  { sandboxId, port, said }: Wanted,
): Promise<Response> {
  if (port === SSH_PORT) throw new MayflyError('port_refused', `Port ${port} is not passed on.`);
  const { hostId } = await awakeSandbox(c, deps, sandboxId, preferenceOf(c.req.header('prefer')).seconds);
  await deps.store.activity.touch(sandboxId);
  await said.once({ by: c.get('apiKey').id, sandboxId, port }, () =>
    recordAccess(c, deps, sandboxId, { kind: 'port.connected', hostId, detail: { port } }),
  );
  const { body, signal } = c.req.raw;
  const response = await deps.guests.request(hostId, `/ports/${sandboxId}/${port}`, {
    method: 'POST',
    body: body ? inUse(deps, sandboxId, body) : new Uint8Array(),
    signal,
  });
  if (!response.ok) throw await refusalOf(response);
  const headers = { 'Content-Type': 'application/octet-stream', 'Cache-Control': 'no-store' };
  return new Response(response.body && inUse(deps, sandboxId, response.body), { headers });
}
