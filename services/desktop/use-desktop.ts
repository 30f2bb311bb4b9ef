import { MayflyError } from '../../model/errors.ts';
import type { IdempotentCall } from '../idempotent-call.ts';
import { DESKTOP_PORTS } from '../ports/desktop-ports.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { act } from './act.ts';
import type { DesktopAction } from './desktop-action.ts';
import { ByteReader, ProtocolError } from './rfb/byte-reader.ts';
import { connected, type Place, type Screens } from './screens.ts';

/** What images/root.desktop's `paste` says when programs can have a text, when one has given up on it, and when one has fetched it. */
const SAID = { taken: 'taken\n', offered: 'offered\n', fetched: 'fetched\n' };

/**
 * Does one thing on a screen, once for each Idempotency-Key.
 * @param enter has the sandbox awake, and records the access
 * @returns the size of the screen
 * @throws MayflyError no_desktop, desktop_unavailable, desktop_uncertain, and what `enter` throws
 */
export async function useDesktop(
  deps: Pick<ServiceDeps, 'store' | 'guests'> & { screens: Screens },
  { isFresh }: IdempotentCall,
  action: DesktopAction,
  enter: () => Promise<Place>,
): Promise<{ width: number; height: number }> {
  if (!isFresh) throw new MayflyError('desktop_uncertain', 'It was begun, and nobody has said how it ended.');
  let isBegun = false;
  try {
    const place = await enter();
    return await deps.screens.with(deps, place, async (screen) => {
      isBegun = true;
      await act(screen, action, (text, press) => paste(deps, place, text, press));
      return { width: screen.width, height: screen.height };
    });
  } catch (error) {
    if (!isBegun || !(error instanceof MayflyError)) throw error;
    // A begun action is not retried as an unavailable desktop is.
    const code = error.code === 'desktop_unavailable' ? 'desktop_uncertain' : error.code;
    throw new MayflyError(code, error.message, { ...error.options, cause: error, mayHaveBegun: true });
  }
}

/** Pastes by a program of the guest, which hands it to others at once: some wait no longer than a second for what they paste. */
function paste(
  deps: Pick<ServiceDeps, 'guests'>,
  place: Place,
  text: string,
  press: () => Promise<void>,
): Promise<void> {
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
