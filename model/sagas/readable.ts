import { redactText } from '../redaction/redact.ts';

/** INVISIBLE SEPARATOR: not rendered, and never typed. */
const MARK = '\u2063';
/** First UTF-8 bytes of a payload that is JSON of such a text. */
const READABLE_PREFIX = [0x22, 0xe2, 0x81, 0xa3];

/**
 * Marks a line for Temporal's UI: ids, names and states. Temporal stores all other payloads encrypted, but marked ones
 * in plain text, so they may contain public data only.
 */
export function markReadable(text: string): string {
  return MARK + redactText(text);
}

/** True when a payload's data is a {@link markReadable} text. */
export function isReadable(data: Uint8Array | null | undefined): boolean {
  return data !== null && data !== undefined && READABLE_PREFIX.every((byte, at) => data[at] === byte);
}
