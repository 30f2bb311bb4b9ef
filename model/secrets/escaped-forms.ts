import { getUnmaskedReason } from './maskable.ts';

type Escape = (character: string) => string;

const decimal: Escape = (each) => `&#${each.codePointAt(0)};`;
const hexadecimal: Escape = (each) => `&#x${each.codePointAt(0)?.toString(16).toUpperCase()};`;
const NAMES: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' };
const namedEntity: Escape = (each) => `&${NAMES[each]};`;

/**
 * Returns the forms of a text in HTML and XML, by the escapes that templates and libraries use for quotes, slashes and
 * non-ASCII letters.
 */
export function htmlForms(text: string): string[] {
  const markup = text.replace(/[&<>]/g, namedEntity);
  const quoted = markup.replaceAll('"', '&quot;');
  const inNumbers = markup.replaceAll('"', '&#34;').replaceAll("'", '&#39;');
  const forms = [
    markup,
    quoted,
    ...['&#39;', '&#039;', '&#x27;', '&apos;'].map((apostrophe) => quoted.replaceAll("'", apostrophe)),
    inNumbers,
    inNumbers.replaceAll('+', '&#43;'),
    quoted.replaceAll("'", '&#39;').replace(/[/`=]/g, hexadecimal),
    quoted.replaceAll("'", '&#x27;').replace(/[/`=]/g, hexadecimal),
  ];
  const letters = /[\u0080-\u{10ffff}]/gu;
  return forms.flatMap((form) => [form, form.replace(letters, decimal), form.replace(letters, hexadecimal)]);
}

/** Characters escaped with a backslash by printf %q of bash and zsh, Ruby's Shellwords, and npm's shell-quote. */
const ESCAPED_IN_SHELL = [
  /[\s!"#$&'()*,;<>?[\\\]^`{|}~]/g,
  /[\s!"#$&'()*;<=>?[\\\]^`{|}~]/g,
  /[^A-Za-z0-9_\-.,:+/@\n]/gu,
  /[^A-Za-z0-9_\-.,:+=%/@\n]/gu,
  /[#!"$&'()*,:;<=>?@[\\\]^`{|}]/g,
];
const CONTROLS: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * Returns the forms of a text in shell input and in the output of `set -x`: in either quotes, in `$'…'`, and with
 * backslashes.
 */
export function shellForms(text: string): string[] {
  const ansi = text.replace(/[\\']/g, '\\$&').replace(/[\n\r\t]/g, (each) => CONTROLS[each] ?? each);
  const octal = [...Buffer.from(ansi)].map((byte) =>
    byte < 0x80 ? String.fromCharCode(byte) : `\\${byte.toString(8)}`,
  );
  return [
    text.replaceAll("'", "'\\''"),
    text.replaceAll("'", `'"'"'`),
    text.replace(/["$\\`]/g, '\\$&'),
    text.replace(/["$\\`!]/g, '\\$&'),
    ansi,
    octal.join(''),
    ...ESCAPED_IN_SHELL.map((characters) => text.replace(characters, '\\$&')),
  ];
}

/** Returns names derived from a text for URLs, hosts and files, except common words that would mask much of a log. */
export function slugForms(text: string): string[] {
  const plain = text.normalize('NFKD').replace(/\p{M}/gu, '');
  const slugs = [text, plain].flatMap((from) =>
    ['-', '_'].flatMap((joint) => {
      const each = from.replace(/[^A-Za-z0-9]/g, joint);
      const runs = from.replace(/[^A-Za-z0-9]+/g, joint);
      const dropped = from.replace(/[^\w\s-]/g, '').replace(/[\s_-]+/g, joint);
      return [each, runs, dropped].map((slug) => slug.replace(/^[-_]+|[-_]+$/g, ''));
    }),
  );
  return slugs.flatMap((slug) => [slug, slug.toLowerCase()]).filter((slug) => getUnmaskedReason(slug) === null);
}
