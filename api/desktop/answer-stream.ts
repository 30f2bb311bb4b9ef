import { randomInt } from 'node:crypto';
import type { Context } from 'hono';
import type { Env, RequestDeps } from '../http/context.ts';
import { refusalOf } from '../http/guests.ts';
import { refuseTyping } from './answer-action.ts';
import { beginAccess } from './desktop-access.ts';
import { DESKTOP_PORTS, passwordPath, passwords } from './open-screen.ts';
import { PASSWORD_BYTES, passwordFile } from './rfb/password.ts';

type Mode = 'view' | 'control';

/** Without those that look like others. Together 45 bits, and each guess is a connection. */
const LETTERS = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';

/**
 * POST …/desktop/streams: a new password of that mode. The one of before opens nothing more.
 * @throws MayflyError policy_denied, no_desktop, guest_failed, and as {@link beginAccess}
 */
export async function answerStream(
  c: Context<Env>,
  deps: RequestDeps,
  sandboxId: string,
  mode: Mode,
): Promise<Response> {
  if (mode === 'control') await refuseTyping(c, deps, sandboxId);
  const place = await beginAccess(c, deps, sandboxId, { kind: 'desktop.stream-opened', detail: { mode } });
  const password = Array.from({ length: PASSWORD_BYTES }, () => LETTERS[randomInt(LETTERS.length)]).join('');
  const file = passwordFile({ ...(await passwords(deps, place)), [mode]: password });
  const options = { method: 'PUT', body: file, signal: place.signal } as const;
  const written = await deps.guests.request(place.hostId, passwordPath(sandboxId), options);
  if (!written.ok) throw await refusalOf(written);
  const viewing = mode === 'view' ? '&view_only=1' : '';
  const path = `/vnc.html?autoconnect=1&reconnect=1&resize=scale${viewing}`;
  return c.json({ mode, password, port: DESKTOP_PORTS.noVnc, path }, 201);
}
