/**
 * What a terminal would obey instead of show: C0 and C1 control characters, DEL, and the bidirectional overrides
 * (U+202A-202E, U+2066-2069) that make one text look like another. Names and messages come from guests and callers.
 */
const OBEYED = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** `text` as one line that a terminal shows and does nothing else with. */
export function printable(text: string): string {
  return text.replace(OBEYED, (char) => (char === '\n' || char === '\t' ? ' ' : '\ufffd'));
}

/** JSON on one line; `JSON.stringify` leaves C1 characters and overrides as they are, which terminals obey. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(OBEYED, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
