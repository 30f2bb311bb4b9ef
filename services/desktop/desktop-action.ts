import { z } from 'zod';
import { LIMITS } from '../../model/limits.ts';
import { intInRange } from '../../model/request-fields.ts';

/** Keysyms of X11 (keysymdef.h) by the names that people and xdotool use, without case and `_`. */
const NAMED: Readonly<Record<string, number>> = {
  backspace: 0xff08,
  tab: 0xff09,
  enter: 0xff0d,
  return: 0xff0d,
  pause: 0xff13,
  escape: 0xff1b,
  esc: 0xff1b,
  home: 0xff50,
  left: 0xff51,
  up: 0xff52,
  right: 0xff53,
  down: 0xff54,
  pageup: 0xff55,
  prior: 0xff55,
  pagedown: 0xff56,
  next: 0xff56,
  end: 0xff57,
  print: 0xff61,
  insert: 0xff63,
  menu: 0xff67,
  shift: 0xffe1,
  ctrl: 0xffe3,
  control: 0xffe3,
  capslock: 0xffe5,
  alt: 0xffe9,
  super: 0xffeb,
  meta: 0xffeb,
  delete: 0xffff,
  space: 0x20,
  plus: 0x2b,
};
const F1 = 0xffbe;
const FUNCTION_KEY = /^f([1-9]|1\d|2[0-4])$/;
const PRINTABLE = /^[!-~]$/;
/** Limit of keys that are held down at once. */
const MAX_KEYS = 5;

export const KEY = { enter: 0xff0d, tab: 0xff09, shift: 0xffe1, insert: 0xff63 } as const;

/** Returns the keysyms of `ctrl+shift+t`, in this order; null when one is unknown. */
export function chordOf(text: string): number[] | null {
  const names = text === '+' ? ['plus'] : text.split('+');
  const keys = names.map(keysymOf);
  return keys.length <= MAX_KEYS && keys.every((key) => key !== null) ? keys : null;
}

function keysymOf(name: string): number | null {
  if (PRINTABLE.test(name)) return name.charCodeAt(0);
  const plain = name.replaceAll('_', '').toLowerCase();
  const [, number] = FUNCTION_KEY.exec(plain) ?? [];
  if (number !== undefined) return F1 + Number(number) - 1;
  return Object.hasOwn(NAMED, plain) ? (NAMED[plain] ?? null) : null;
}

const { coordinate, textLength, wheelSteps } = LIMITS.desktop;

const pixels = () => intInRange(coordinate, 'pixels');
const place = { x: pixels(), y: pixels() };
const button = z.enum(['left', 'middle', 'right']).default('left');
const steps = intInRange(wheelSteps, 'steps').default(0);
/** Text that a keyboard can type: no control characters but tabs and line ends, well-formed Unicode. */
const TYPED = /^(?:[\t\n\r]|[^\p{Cc}\p{Cs}])*$/u;

const typed = z
  .string()
  .min(1, 'must have at least 1 character')
  .max(textLength, `must have at most ${textLength} characters`)
  .regex(TYPED, 'must have no control characters but tabs and ends of lines, and be well-formed Unicode')
  .meta({ pattern: '^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f]*$' });

const chord = z
  .string()
  .max(64)
  .refine((text) => chordOf(text) !== null, 'must be up to 5 keys, such as Enter, F5, ctrl+l or ctrl+shift+Tab')
  .meta({ example: 'ctrl+l' });

export const desktopAction = z
  .discriminatedUnion('action', [
    z.strictObject({ action: z.literal('move'), ...place }),
    z.strictObject({ action: z.literal('click'), ...place, button, count: z.int().min(1).max(3).default(1) }),
    z.strictObject({ action: z.literal('drag'), ...place, toX: pixels(), toY: pixels(), button }),
    z.strictObject({ action: z.literal('scroll'), ...place, down: steps, right: steps }),
    z.strictObject({ action: z.literal('key'), keys: chord }),
    z.strictObject({ action: z.literal('type'), text: typed }),
  ])
  .meta({ id: 'DesktopAction' });
export type DesktopAction = z.output<typeof desktopAction>;
