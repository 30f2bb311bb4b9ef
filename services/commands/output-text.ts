import { begun } from '../../model/utf8.ts';

/** Bytes as JSON can carry them. */
export type TextOrBase64 = { text: string } | { base64: string };

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Text where the bytes are UTF-8, else base64.
 * @param isCut whether more was to come: then a character that has only begun at the end is left out of text
 */
export function textOrBase64(bytes: Uint8Array, { isCut }: { isCut: boolean }): TextOrBase64 {
  const whole = isCut ? bytes.subarray(0, bytes.length - begun(bytes)) : bytes;
  try {
    return { text: decoder.decode(whole) };
  } catch {
    return { base64: Buffer.from(bytes).toString('base64') }; // not UTF-8: then it is bytes
  }
}
