import { randomInt } from 'node:crypto';
import type { Context } from 'hono';
import type { PortAddress } from '../../model/ports/port-address.ts';
import { DESKTOP_PORTS } from '../../services/desktop/desktop-ports.ts';
import { PASSWORD_BYTES, passwordFile } from '../../services/desktop/rfb/password.ts';
import { passwordPath, passwords } from '../../services/desktop/screens.ts';
import { refusalOf } from '../../services/guests.ts';
import { TOKEN_NAME } from '../../services/ports/port-token.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { ensureOpen, issueTokenOf } from '../ports/opened-port.ts';
import { refuseTyping } from '../ports/refuse-typing.ts';
import { sandboxOfPath } from '../resources/sandbox-of-path.ts';
import { beginAccess } from './desktop-access.ts';

type Mode = 'view' | 'control';

/** Without those that look like others. Together 45 bits, and each guess is a connection. */
const LETTERS = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';

/** For browsers of whoever has the token. */
const OPENED = { visibility: 'token', host: 'localhost', cors: false, wake: false } as const;

/**
 * POST …/desktop/streams: a new password of that mode, so that the one of before opens nothing more, and a URL of noVNC.
 * @throws MayflyError policy_denied, no_desktop, guest_failed, port_open, ports_full, and as {@link beginAccess}
 */
export async function answerStream(
  c: Context<Env>,
  deps: RequestDeps,
  { sandboxId, mode, ttlSeconds }: { sandboxId: string; mode: Mode; ttlSeconds: number },
  addresses: PortAddress,
): Promise<Response> {
  if (mode === 'control') await refuseTyping(deps, (await sandboxOfPath(c, deps, sandboxId)).project);
  const place = await beginAccess(c, deps, sandboxId, { kind: 'desktop.stream-opened', detail: { mode } });
  const before = await passwords(deps, place);
  const port = DESKTOP_PORTS.noVnc;
  const { opened } = await ensureOpen(c, { sandboxId, port }, OPENED);
  const password = Array.from({ length: PASSWORD_BYTES }, () => LETTERS[randomInt(LETTERS.length)]).join('');
  const file = passwordFile({ ...before, [mode]: password });
  const options = { method: 'PUT', body: file, signal: place.signal } as const;
  const written = await deps.guests.request(place.hostId, passwordPath(sandboxId), options);
  if (!written.ok) throw await refusalOf(written);
  const { token, expiresAt } = await issueTokenOf(c, opened, ttlSeconds);
  const query = new URLSearchParams({ [TOKEN_NAME]: token, autoconnect: '1', reconnect: '1', resize: 'scale' });
  if (mode === 'view') query.set('view_only', '1');
  const url = `${addresses.originOf(opened)}/vnc.html?${query.toString()}`;
  return c.json({ mode, password, port, url, expiresAt }, 201, { 'Cache-Control': 'no-store' });
}
