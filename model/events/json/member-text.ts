/**
 * The text of a member of a JSON object, as it stands there: numbers and escapes as they were written. Of members of one name
 * the last, as JSON.parse has it.
 * @param json what JSON.parse takes, and makes an object of
 * @returns undefined: it has no such member
 */
export function memberText(json: string, name: string): string | undefined {
  let found: string | undefined;
  for (let at = json.indexOf('{') + 1; ; ) {
    const key = textFrom(json, at);
    if (!key.text.startsWith('"')) return found;
    const value = textFrom(json, json.indexOf(':', key.end) + 1);
    if (JSON.parse(key.text) === name) found = value.text;
    at = nonSpace(json, value.end) + 1;
    if (json[at - 1] !== ',') return found;
  }
}

/** Texts of the items of a JSON array, as they stand there. @param json well-formed, an array */
export function* itemTexts(json: string): Generator<string> {
  let at = json.indexOf('[') + 1;
  if (json[nonSpace(json, at)] === ']') return;
  for (;;) {
    const item = textFrom(json, at);
    yield item.text;
    at = nonSpace(json, item.end) + 1;
    if (json[at - 1] !== ',') return;
  }
}

/** The value that stands behind a place. */
function textFrom(json: string, from: number): { text: string; end: number } {
  const start = nonSpace(json, from);
  let depth = 0;
  let at = start;
  do {
    const character = json[at];
    if (character === '"') at = stringEnd(json, at);
    else if (character === '{' || character === '[') depth++;
    else if (character === '}' || character === ']') depth--;
    at++;
  } while (at < json.length && (depth > 0 || !isOver(json, start, at)));
  return { text: json.slice(start, at), end: at };
}

/** A string, an object and a list end by themselves; a number and a word before what is behind them. */
function isOver(json: string, start: number, at: number): boolean {
  return '"{[}'.includes(json[start] ?? '') || /[\s,}\]]/.test(json[at] ?? ',');
}

function stringEnd(json: string, start: number): number {
  for (let at = start + 1; ; at++) {
    if (json[at] === '\\') at++;
    else if (json[at] === '"') return at;
  }
}

function nonSpace(json: string, from: number): number {
  let at = from;
  while (/\s/.test(json[at] ?? '.')) at++;
  return at;
}
