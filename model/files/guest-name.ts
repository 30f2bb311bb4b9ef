import type { GuestName } from './file-change.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Converts bytes from a guest for JSON. */
export function toGuestName(bytes: Uint8Array): GuestName {
  try {
    return decoder.decode(bytes);
  } catch {
    return { base64: Buffer.from(bytes).toString('base64') }; // not UTF-8
  }
}

export function toGuestNameBytes(name: GuestName): Buffer {
  return typeof name === 'string' ? Buffer.from(name, 'utf8') : Buffer.from(name.base64, 'base64');
}

const NAMED: Record<string, string> = { '\n': '\\n', '\t': '\\t', '\r': '\\r', '"': '\\"', '\\': '\\\\' };
/** Characters that end a line for some reader or disguise it (bidi controls U+202A-202E, U+2066-2069). */
const UNSAFE_CHARACTERS = /[\p{Cc}"\\\u2028-\u202e\u2066-\u2069]/u;

/**
 * Quotes a path like Git (git-config(1), core.quotePath): unchanged, or in quotes with octal escapes where a line could
 * not hold it.
 */
export function quotedPath(path: GuestName): string {
  if (typeof path === 'string' && !UNSAFE_CHARACTERS.test(path)) return path;
  let quoted = '';
  for (const byte of toGuestNameBytes(path)) {
    const char = String.fromCharCode(byte);
    if (byte < 0x20 || byte > 0x7e) quoted += NAMED[char] ?? `\\${byte.toString(8).padStart(3, '0')}`;
    else quoted += NAMED[char] ?? char;
  }
  return `"${quoted}"`;
}
