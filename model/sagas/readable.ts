import { redactText } from '../redaction/redact.ts';

/** INVISIBLE SEPARATOR: nobody sees it, and nobody types it. */
const MARK = '\u2063';
/** How a payload begins that is JSON of such a text. UTF-8. */
const BEGINNING = [0x22, 0xe2, 0x81, 0xa3];

/**
 * A line for people in Temporal's UI: ids, names and states. All else that Temporal keeps is encrypted; this is marked to stay
 * readable, so only what everybody may read goes in.
 */
export function readable(text: string): string {
  return MARK + redactText(text);
}

/** Whether a payload's data is a {@link readable} text. */
export function isReadable(data: Uint8Array | null | undefined): boolean {
  return data !== null && data !== undefined && BEGINNING.every((byte, at) => data[at] === byte);
}
