/**
 * Returns the original text of a member of a JSON object, with numbers and escapes as written. The last duplicate wins,
 * as in JSON.parse.
 * @param json text of an object, valid for JSON.parse
 * @returns undefined: no such member
 */
export function getMemberText(json: string, name: string): string | undefined {
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

/** Yields the original texts of an array's items. @param json well-formed, an array */
export function* eachItemText(json: string): Generator<string> {
  let at = json.indexOf('[') + 1;
  if (json[nonSpace(json, at)] === ']') return;
  for (;;) {
    const item = textFrom(json, at);
    yield item.text;
    at = nonSpace(json, item.end) + 1;
    if (json[at - 1] !== ',') return;
  }
}

/** Returns the value after an offset. */
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
  } while (at < json.length && (depth > 0 || !isValueEnd(json, start, at)));
  return { text: json.slice(start, at), end: at };
}

/** True at the end of a value: after a string, object or array; before the delimiter of a number or literal. */
function isValueEnd(json: string, start: number, at: number): boolean {
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
