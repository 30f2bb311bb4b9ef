import { randomInt } from 'node:crypto';
import type { PortAddress } from '../../model/ports/port-address.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { refusalOf } from '../guests.ts';
import { DESKTOP_PORTS } from '../ports/desktop-ports.ts';
import { ensureOpen, issueTokenOf } from '../ports/opened-port.ts';
import { TOKEN_NAME } from '../ports/port-token.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { PASSWORD_BYTES, passwordFile } from './rfb/password.ts';
import { type Place, passwordPath, passwords } from './screens.ts';

/** Without those that look like others. Together 45 bits, and each guess is a connection. */
const LETTERS = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';

/** For browsers of whoever has the token. */
const OPENED = { visibility: 'token', host: 'localhost', cors: false, wake: false } as const;

/**
 * Makes a new password of that mode, so that the one of before opens nothing more, and a URL of noVNC.
 * @throws MayflyError no_desktop, guest_failed, port_open, ports_full
 */
export async function openStream(
  deps: Pick<ServiceDeps, 'store' | 'sagas' | 'guests'> & { portAddress: PortAddress },
  actor: Actor,
  place: Place,
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
  if (!written.ok) throw await refusalOf(written);
  const { token, expiresAt } = await issueTokenOf(deps, actor, opened, ttlSeconds);
  const query = new URLSearchParams({ [TOKEN_NAME]: token, autoconnect: '1', reconnect: '1', resize: 'scale' });
  if (mode === 'view') query.set('view_only', '1');
  const url = `${deps.portAddress.originOf(opened)}/vnc.html?${query.toString()}`;
  return { mode, password, port, url, expiresAt };
}
