import type { DesktopAction } from './desktop-action.ts';
import { chordOf, KEY } from './keysyms.ts';
import type { Screen } from './rfb/screen.ts';

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
export async function act(screen: Screen, action: DesktopAction, paste: Paste): Promise<void> {
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
