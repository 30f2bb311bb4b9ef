import { MayflyError } from '../../model/errors.ts';
import type { IdempotentCall } from '../idempotent-call.ts';
import { DESKTOP_PORTS } from '../ports/refuse-typing.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { chordOf, type DesktopAction, KEY } from './desktop-action.ts';
import { ByteReader, ProtocolError } from './rfb/byte-reader.ts';
import type { Screen } from './rfb/screen.ts';
import { connected, type Place, type Screens } from './screens.ts';

/** Bits of RFC 6143 §7.5.5. */
const BUTTON = { left: 1, middle: 2, right: 4 } as const;
const WHEEL = { up: 8, down: 16, left: 32, right: 64 } as const;
/** Places between the ends of a drag: programs look at the way, not only at its end. */
const DRAG_PARTS = 10;
/** What every keyboard has keys for, anything else, and again what every keyboard has keys for. */
const PARTS = /^([\t\n\r -~]*)(.*?)([\t\n\r -~]*)$/s;
/** Keys between two looks whether the server still does what it is told. */
const KEYS_AT_ONCE = 200;

/** Makes a text what was copied, has it pasted, and returns when a program has fetched it. */
type Paste = (text: string, press: () => Promise<void>) => Promise<void>;

/** Does one thing on a screen; when it returns, the X server has done it. What programs make of it takes its time. */
async function act(screen: Screen, action: DesktopAction, paste: Paste): Promise<void> {
  switch (action.action) {
    case 'move':
      screen.point(action.x, action.y, 0);
      break;
    case 'click':
      click(screen, action);
      break;
    case 'drag':
      drag(screen, action);
      break;
    case 'scroll':
      scroll(screen, action);
      break;
    case 'key':
      press(screen, chordOf(action.keys) ?? []);
      break;
    case 'type':
      await type(screen, action.text, paste);
  }
  await screen.settled();
}

function click(screen: Screen, { x, y, button, count }: Extract<DesktopAction, { action: 'click' }>): void {
  screen.point(x, y, 0);
  for (let n = 0; n < count; n++) {
    screen.point(x, y, BUTTON[button]);
    screen.point(x, y, 0);
  }
}

function drag(screen: Screen, { x, y, toX, toY, button }: Extract<DesktopAction, { action: 'drag' }>): void {
  screen.point(x, y, 0);
  for (let part = 0; part <= DRAG_PARTS; part++) {
    const at = (from: number, to: number) => Math.round(from + ((to - from) * part) / DRAG_PARTS);
    screen.point(at(x, toX), at(y, toY), BUTTON[button]);
  }
  screen.point(toX, toY, 0);
}

function scroll(screen: Screen, { x, y, right, down }: Extract<DesktopAction, { action: 'scroll' }>): void {
  screen.point(x, y, 0);
  const turn = (steps: number, wheel: number) => {
    for (let n = 0; n < steps; n++) {
      screen.point(x, y, wheel);
      screen.point(x, y, 0);
    }
  };
  turn(Math.abs(down), down > 0 ? WHEEL.down : WHEEL.up);
  turn(Math.abs(right), right > 0 ? WHEEL.right : WHEEL.left);
}

/** The first is held until all are down. */
function press(screen: Screen, keys: readonly number[]): void {
  for (const key of keys) screen.key(key, true);
  for (const key of keys.toReversed()) screen.key(key, false);
}

/**
 * Types a text: ends of lines and tabs are keys, and so is what a keyboard has. What is from the first other character to the
 * last is pasted, since an X server has few keys to spare for characters, and drops what is typed when they are out; at once,
 * since each is a wait. What is behind it waits until it was fetched: a terminal would take a key first.
 */
async function type(screen: Screen, text: string, paste: Paste): Promise<void> {
  const [, before = '', other = '', after = ''] = PARTS.exec(text.replaceAll('\r\n', '\n')) ?? [];
  await typeKeys(screen, before);
  if (other !== '') {
    await paste(other, async () => {
      // In a terminal Ctrl and V mean something else.
      press(screen, [KEY.shift, KEY.insert]);
      await screen.settled();
    });
  }
  await typeKeys(screen, after);
}

async function typeKeys(screen: Screen, text: string): Promise<void> {
  for (let at = 0; at < text.length; at += KEYS_AT_ONCE) {
    for (const character of text.slice(at, at + KEYS_AT_ONCE)) press(screen, [keyOf(character)]);
    if (at > 0) await screen.settled();
  }
}

function keyOf(character: string): number {
  if (character === '\t') return KEY.tab;
  return character === '\n' || character === '\r' ? KEY.enter : character.charCodeAt(0);
}

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
