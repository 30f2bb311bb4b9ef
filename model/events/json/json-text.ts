import { MayflyError } from '../../errors.ts';

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** JSON text as sent, with its parsed value. */
export interface JsonText {
  /** UTF-8 without a byte order mark. */
  bytes: Uint8Array;
  /** Duplicate members: the last one wins. */
  value: unknown;
}

/** Nesting depth allowed in a JSON request; recursive readers need one call per level. */
export const DEEPEST_JSON = 100;

/** True when brackets are nested deeper. @param text JSON */
export function isTooDeep(text: string, most = DEEPEST_JSON): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') {
      for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at++;
    } else if (character === '[' || character === '{') {
      if (++depth > most) return true;
    } else if (character === ']' || character === '}') depth--;
  }
  return false;
}

/** @throws MayflyError invalid_json, without quoting the body */
export function readJson(body: Uint8Array): JsonText {
  const bytes = withoutByteOrderMark(body);
  const text = utf8Text(bytes);
  if (text === undefined) throw new MayflyError('invalid_json', 'The body is not UTF-8.');
  try {
    return { bytes, value: JSON.parse(text) };
  } catch {
    throw new MayflyError('invalid_json', 'The body is not JSON.');
  }
}

export function withoutByteOrderMark(bytes: Uint8Array): Uint8Array {
  return BYTE_ORDER_MARK.every((byte, at) => bytes[at] === byte) ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes;
}

/** Undefined: the bytes are not UTF-8. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}
