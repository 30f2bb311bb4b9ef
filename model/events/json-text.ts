import { MayflyError } from '../errors.ts';

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A JSON text as it was sent, and what it says. */
export interface JsonText {
  /** UTF-8, without a byte order mark. */
  bytes: Uint8Array;
  /** Of members of one name the last. */
  value: unknown;
}

/** @throws MayflyError invalid_json, which quotes nothing of the body */
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
