import { MayflyError } from '../../model/errors.ts';
import type { IdempotentCall } from '../idempotent-call.ts';
import { DESKTOP_PORTS } from '../ports/refuse-typing.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { chordOf, type DesktopAction, KEY } from './desktop-action.ts';
import { ByteReader, ProtocolError } from './rfb/byte-reader.ts';
import type { VncClient } from './rfb/screen.ts';
import { type AwakeSandbox, type Screens, withConnection } from './screens.ts';

/** Bits of RFC 6143 §7.5.5. */
const BUTTON = { left: 1, middle: 2, right: 4 } as const;
const WHEEL = { up: 8, down: 16, left: 32, right: 64 } as const;
/** Points between the ends of a drag: programs follow the path, not only its end. */
const DRAG_PARTS = 10;
/** ASCII that every keyboard can type, anything else, and ASCII again. */
const PARTS = /^([\t\n\r -~]*)(.*?)([\t\n\r -~]*)$/s;
/** Keys between two synchronizations with the server. */
const KEYS_AT_ONCE = 200;

/** Copies a text, pastes it with `press`, and resolves when a program has fetched it. */
type Paste = (text: string, press: () => Promise<void>) => Promise<void>;

/** Does one action on a screen. Returns when the X server has processed it; programs may react later. */
async function performAction(screen: VncClient, action: DesktopAction, paste: Paste): Promise<void> {
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

function click(screen: VncClient, { x, y, button, count }: Extract<DesktopAction, { action: 'click' }>): void {
  screen.point(x, y, 0);
  for (let n = 0; n < count; n++) {
    screen.point(x, y, BUTTON[button]);
    screen.point(x, y, 0);
  }
}

function drag(screen: VncClient, { x, y, toX, toY, button }: Extract<DesktopAction, { action: 'drag' }>): void {
  screen.point(x, y, 0);
  for (let part = 0; part <= DRAG_PARTS; part++) {
    const at = (from: number, to: number) => Math.round(from + ((to - from) * part) / DRAG_PARTS);
    screen.point(at(x, toX), at(y, toY), BUTTON[button]);
  }
  screen.point(toX, toY, 0);
}

function scroll(screen: VncClient, { x, y, right, down }: Extract<DesktopAction, { action: 'scroll' }>): void {
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

/** Holds each key until all are down. */
function press(screen: VncClient, keys: readonly number[]): void {
  for (const key of keys) screen.key(key, true);
  for (const key of keys.toReversed()) screen.key(key, false);
}

/**
 * Types a text: keyboard characters, line ends and tabs as keys. Everything from the first to the last other character
 * is pasted at once: an X server has few spare keycodes, and drops characters when they run out. The rest is typed
 * after the paste was fetched; a terminal would take those keys first.
 */
async function type(screen: VncClient, text: string, paste: Paste): Promise<void> {
  const [, before = '', other = '', after = ''] = PARTS.exec(text.replaceAll('\r\n', '\n')) ?? [];
  await typeKeys(screen, before);
  if (other !== '') {
    await paste(other, async () => {
      // Ctrl+V has another meaning in a terminal.
      press(screen, [KEY.shift, KEY.insert]);
      await screen.settled();
    });
  }
  await typeKeys(screen, after);
}

async function typeKeys(screen: VncClient, text: string): Promise<void> {
  for (let at = 0; at < text.length; at += KEYS_AT_ONCE) {
    for (const character of text.slice(at, at + KEYS_AT_ONCE)) press(screen, [keyOf(character)]);
    if (at > 0) await screen.settled();
  }
}

function keyOf(character: string): number {
  if (character === '\t') return KEY.tab;
  return character === '\n' || character === '\r' ? KEY.enter : character.charCodeAt(0);
}

/**
 * Replies of images/root.desktop's `paste`: the text can be pasted, a program has given up on it, a program has fetched
 * it.
 */
const REPLIES = { taken: 'taken\n', offered: 'offered\n', fetched: 'fetched\n' };

/**
 * Does one action on a screen, once for each Idempotency-Key.
 * @param enter wakes the sandbox, and records the access
 * @returns the size of the screen
 * @throws MayflyError no_desktop, desktop_unavailable, desktop_uncertain, and what `enter` throws
 */
export async function useDesktop(
  deps: Pick<ServiceDeps, 'store' | 'guests'> & { screens: Screens },
  { isFresh }: IdempotentCall,
  action: DesktopAction,
  enter: () => Promise<AwakeSandbox>,
): Promise<{ width: number; height: number }> {
  if (!isFresh) throw new MayflyError('desktop_uncertain', 'It was begun, and nobody has said how it ended.');
  let isBegun = false;
  try {
    const place = await enter();
    return await deps.screens.with(deps, place, async (screen) => {
      isBegun = true;
      await performAction(screen, action, (text, press) => paste(deps, place, text, press));
      return { width: screen.width, height: screen.height };
    });
  } catch (error) {
    if (!isBegun || !(error instanceof MayflyError)) throw error;
    // A started action is not retryable, unlike an unavailable desktop.
    const code = error.code === 'desktop_unavailable' ? 'desktop_uncertain' : error.code;
    throw new MayflyError(code, error.message, { ...error.options, cause: error, mayHaveBegun: true });
  }
}

/** Pastes by a program in the guest, which offers the text at once: some programs wait at most a second for a paste. */
function paste(
  deps: Pick<ServiceDeps, 'guests'>,
  place: AwakeSandbox,
  text: string,
  press: () => Promise<void>,
): Promise<void> {
  return withConnection(deps, place, DESKTOP_PORTS.paste, async ({ write, end, incoming }) => {
    write(Buffer.from(text));
    end();
    const reader = new ByteReader(incoming);
    const readReply = async (length: number) => (await reader.bytes(length)).toString('latin1');
    if ((await readReply(REPLIES.taken.length)) !== REPLIES.taken)
      throw new ProtocolError('it did not take a text to paste');
    await press();
    let last = await readReply(REPLIES.fetched.length);
    if (last === REPLIES.offered) {
      await press();
      last = await readReply(REPLIES.fetched.length);
    }
    if (last === REPLIES.fetched) return;
    throw new ProtocolError('no program took what was pasted: the window that is typed into takes no text, or is busy');
  });
}
