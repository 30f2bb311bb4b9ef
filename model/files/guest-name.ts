import type { GuestName } from './file-change.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** What a guest calls something, as JSON can carry it. */
export function guestNameOf(bytes: Uint8Array): GuestName {
  try {
    return decoder.decode(bytes);
  } catch {
    return { base64: Buffer.from(bytes).toString('base64') }; // not UTF-8: then it is bytes
  }
}

export function bytesOfGuestName(name: GuestName): Buffer {
  return typeof name === 'string' ? Buffer.from(name, 'utf8') : Buffer.from(name.base64, 'base64');
}

const NAMED: Record<string, string> = { '\n': '\\n', '\t': '\\t', '\r': '\\r', '"': '\\"', '\\': '\\\\' };
/** What cannot stand in a line as it is: what ends one for some reader, and what makes it look like another (U+202A-202E, U+2066-2069). */
const AWKWARD = /[\p{Cc}"\\\u2028-\u202e\u2066-\u2069]/u;

/**
 * A path as Git writes it (git-config(1), core.quotePath): as it is, or, where a line could not carry it, in quotes with
 * escapes in octal.
 */
export function quotedPath(path: GuestName): string {
  if (typeof path === 'string' && !AWKWARD.test(path)) return path;
  let quoted = '';
  for (const byte of bytesOfGuestName(path)) {
    const char = String.fromCharCode(byte);
    if (byte < 0x20 || byte > 0x7e) quoted += NAMED[char] ?? `\\${byte.toString(8).padStart(3, '0')}`;
    else quoted += NAMED[char] ?? char;
  }
  return `"${quoted}"`;
}
