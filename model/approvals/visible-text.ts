/**
 * Characters that are not seen as what they are: control and format characters, separators, unassigned ones, halves of
 * surrogate pairs, what fonts show as nothing (variation selectors, fillers, joiners), and signs that look blank.
 */
export const UNSEEN = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\u{1d159}]/gu;

/** Returns a value of a caller's as one line of JSON in which nothing is hidden, for who decides on it. */
export function visibleJson(value: unknown): string {
  return visibleText(JSON.stringify(value) ?? 'null');
}

/** Returns a text as one line in which nothing is hidden; a blank stays. */
export function visibleText(text: string): string {
  return text.replace(UNSEEN, (char) => (char === ' ' ? char : escapeOf(char)));
}

function escapeOf(char: string): string {
  let text = '';
  for (let at = 0; at < char.length; at++) text += `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`;
  return text;
}
