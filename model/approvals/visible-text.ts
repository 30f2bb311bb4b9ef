/**
 * Characters that a reader cannot see or recognize: control and format characters, separators, unassigned ones, lone
 * surrogates, characters that fonts render as nothing (variation selectors, fillers, joiners), and blank-looking
 * symbols.
 */
export const INVISIBLE = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\u{1d159}]/gu;

/** Returns a caller's value as one line of JSON without hidden characters, for the approver. */
export function toVisibleJson(value: unknown): string {
  return toVisibleText(JSON.stringify(value) ?? 'null');
}

/** Returns a text as one line without hidden characters; keeps spaces. */
export function toVisibleText(text: string): string {
  return text.replace(INVISIBLE, (char) => (char === ' ' ? char : escapeOf(char)));
}

function escapeOf(char: string): string {
  let text = '';
  for (let at = 0; at < char.length; at++) text += `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`;
  return text;
}
