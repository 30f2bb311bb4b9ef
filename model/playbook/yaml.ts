/** Text chosen by a guest; tagged so that Ansible evaluates no templates in it. */
export class Unsafe {
  constructor(readonly text: string) {}
}

export type Value = string | number | boolean | Unsafe | readonly Value[] | { readonly [name: string]: Value };

/** Characters per line of a long text; `ansible-lint` allows 160 in all. */
const LINE = 96;

/**
 * Texts that look like a number, a date, `yes`, `null` or `*`. After `!unsafe`, ansible-core 2.19 converts them even in
 * quotes (construct_yaml_unsafe); without the tag, quotes keep them texts, and without a brace they are no templates.
 */
const TYPED = /^[\w.+:~<=*&! -]*$/;

/**
 * Formats YAML 1.2 in ASCII: texts in double quotes with escapes, so that no character ends a line or is invalid in
 * YAML.
 */
export function toYaml(value: Value, indent = 0): string {
  const margin = ' '.repeat(indent);
  if (value instanceof Unsafe) return `${TYPED.test(value.text) ? '' : '!unsafe '}${quoteText(value.text, indent)}`;
  if (typeof value === 'string') return quoteText(value, indent);
  if (typeof value !== 'object') return String(value);
  if (isList(value)) {
    if (value.length === 0) return '[]';
    return value.map((each) => `\n${margin}- ${toYaml(each, indent + 2).trimStart()}`).join('');
  }
  const fields = Object.entries(value);
  if (fields.length === 0) return '{}';
  return fields.map(([name, each]) => `\n${margin}${name}:${after(toYaml(each, indent + 2))}`).join('');
}

function after(text: string): string {
  return text.startsWith('\n') ? text : ` ${text}`;
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

/**
 * Quotes a text; a backslash at the end of a line joins it with the next line's first non-blank character (YAML 1.2,
 * 7.3.1).
 */
function quoteText(text: string, indent: number): string {
  const pieces: string[] = [];
  let line = '';
  for (const char of text) {
    if (line.length >= LINE) {
      pieces.push(line);
      line = '';
    }
    const next = escapeChar(char);
    line += line === '' && pieces.length > 0 && next === ' ' ? '\\ ' : next;
  }
  return `"${[...pieces, line].join(`\\\n${' '.repeat(indent + 2)}`)}"`;
}

const NAMED: Record<string, string> = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\t': '\\t', '\r': '\\r' };

function escapeChar(char: string): string {
  if (char in NAMED) return NAMED[char] ?? char;
  const code = char.codePointAt(0) ?? 0;
  if (code >= 0x20 && code < 0x7f) return char;
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
}

/** Formats a comment on one line. */
export function toYamlComment(text: string): string {
  const line = Array.from(text, escapeChar).join('');
  return line.length > 140 ? `# ${line.slice(0, 137)}...` : `# ${line}`.trimEnd();
}
