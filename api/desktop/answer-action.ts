import type { Context } from 'hono';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { operationIdFrom } from '../../model/ids.ts';
import { DESKTOP_PORTS } from '../../services/desktop/desktop-ports.ts';
import { ByteReader, ProtocolError } from '../../services/desktop/rfb/byte-reader.ts';
import { connected, type Place, type Screens } from '../../services/desktop/screens.ts';
import { freeRequest } from '../../services/idempotent-attempt.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { answerOnce } from '../http/idempotency.ts';
import { refuseTyping } from '../ports/refuse-typing.ts';
import { sandboxOfPath } from '../resources/sandbox-of-path.ts';
import { act, type DesktopAction } from './act.ts';
import { beginAccess } from './desktop-access.ts';

/** What images/root.desktop's `paste` says when programs can have a text, when one has given up on it, and when one has fetched it. */
const SAID = { taken: 'taken\n', offered: 'offered\n', fetched: 'fetched\n' };

/**
 * POST …/desktop/actions: once, however often it is sent with the same Idempotency-Key.
 * @throws MayflyError policy_denied, no_desktop, desktop_unavailable, desktop_uncertain, and as {@link beginAccess}
 */
export async function answerAction(
  c: Context<Env>,
  deps: RequestDeps,
  screens: Screens,
  { sandboxId, action }: { sandboxId: string; action: DesktopAction },
): Promise<Response> {
  await refuseTyping(deps, (await sandboxOfPath(c, deps, sandboxId)).project);
  return answerOnce(c, { idFrom: operationIdFrom, body: action }, async (attempt) => {
    if (!attempt.isFresh) throw new MayflyError('desktop_uncertain', 'It was begun, and nobody has said how it ended.');
    let isBegun = false;
    try {
      const place = await beginAccess(c, deps, sandboxId, { kind: 'desktop.used', detail: toldOf(action) });
      const size = await screens.with(deps, place, async (screen) => {
        isBegun = true;
        await act(screen, action, (text, press) => paste(deps, place, text, press));
        return { width: screen.width, height: screen.height };
      });
      return { response: c.json(size, 200), isKept: true };
    } catch (error) {
      if (isBegun) throw uncertain(error);
      await freeRequest(deps.store, attempt);
      throw error;
    }
  });
}

/** What was begun is not to be tried again by itself, as what is not available is. */
function uncertain(error: unknown): unknown {
  if (!isMayflyError(error, 'desktop_unavailable')) return error;
  return new MayflyError('desktop_uncertain', error.message, { cause: error });
}

/** By a program of the guest, which hands it to others at once: some wait no longer than a second for what they paste. */
function paste(deps: RequestDeps, place: Place, text: string, press: () => Promise<void>): Promise<void> {
  return connected(deps, place, DESKTOP_PORTS.paste, async ({ write, end, incoming }) => {
    write(Buffer.from(text));
    end();
    const reader = new ByteReader(incoming);
    const said = async (length: number) => (await reader.bytes(length)).toString('latin1');
    if ((await said(SAID.taken.length)) !== SAID.taken) throw new ProtocolError('it did not take a text to paste');
    await press();
    let last = await said(SAID.fetched.length);
    if (last === SAID.offered) {
      await press();
      last = await said(SAID.fetched.length);
    }
    if (last === SAID.fetched) return;
    throw new ProtocolError('no program took what was pasted: the window that is typed into takes no text, or is busy');
  });
}

/** Without texts, which may be passwords. */
function toldOf(action: DesktopAction): Record<string, unknown> {
  if (action.action === 'type') return { action: 'type', characters: action.text.length };
  return { ...action };
}
