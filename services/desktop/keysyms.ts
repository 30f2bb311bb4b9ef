/** The numbers that X11 gives keys (keysymdef.h), by the names that people and xdotool call them, without case and `_`. */
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
/** Keys that are held down at once. */
const MAX_KEYS = 5;

export const KEY = { enter: 0xff0d, tab: 0xff09, shift: 0xffe1, insert: 0xff63 } as const;

/** The keys of `ctrl+shift+t`, in this order; null where one of them is none. */
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
