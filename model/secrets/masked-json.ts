/** Delimiters between tokens outside of strings, RFC 8259 §2. */
const STRUCTURE = /([\s[\]{},:]+)/;

/**
 * Quotes masked tokens outside of strings, so that a number with a masked secret is valid JSON again. Takes linear time
 * for any text.
 */
export function quoteMasked(text: string): string {
  const parts: string[] = [];
  for (let at = 0; at < text.length; ) {
    const end = text[at] === '"' ? endOfString(text, at) : nextQuote(text, at);
    const part = text.slice(at, end);
    parts.push(text[at] === '"' ? part : tokensQuoted(part));
    at = end;
  }
  return parts.join('');
}

function tokensQuoted(part: string): string {
  if (!part.includes('***')) return part;
  const tokens = part.split(STRUCTURE);
  return tokens.map((token) => (token.includes('***') ? '"***"' : token)).join('');
}

function nextQuote(text: string, from: number): number {
  const at = text.indexOf('"', from);
  return at < 0 ? text.length : at;
}

function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}
