import { whyNotMasked } from './maskable.ts';

/** By encodeURIComponent, by RFC 3986 to the letter, as a path, as a form, by encodeURI; in digits of both cases. */
export function inUrl(text: string): string[] {
  const component = encodeURIComponent(text);
  const forms = [component, encodeURI(text)].flatMap((form) => [
    form,
    form.replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`),
  ]);
  const others = forms.flatMap((form) => [
    form,
    form.replaceAll('%2F', '/'),
    form.replaceAll('%20', '+'),
    form.replaceAll('%20', '+').replaceAll('~', '%7E'),
  ]);
  return others.flatMap((form) => [form, form.replace(/%[0-9A-F]{2}/g, (each) => each.toLowerCase())]);
}

/** Entities of quotes: of text between tags, Python, PHP, Go, JavaScript, XML. */
const QUOTES: readonly [double: string, single: string][] = [
  ['"', "'"],
  ['&quot;', "'"],
  ['&quot;', '&#x27;'],
  ['&quot;', '&#039;'],
  ['&quot;', '&#39;'],
  ['&#34;', '&#39;'],
  ['&quot;', '&apos;'],
];

/** With entities of HTML and XML, and numbers for what is not ASCII, where that is wanted. */
export function inHtml(text: string): string[] {
  const tags = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const quoted = QUOTES.map(([double, single]) => tags.replaceAll('"', double).replaceAll("'", single));
  const numbered = (digits: (code: number) => string) => (form: string) =>
    form.replace(/[^\0-\x7f]/gu, (each) => `&#${digits(each.codePointAt(0) ?? 0)};`);
  const decimal = quoted.map(numbered((code) => String(code)));
  const hex = quoted.map(numbered((code) => `x${code.toString(16)}`));
  return [
    ...quoted,
    ...decimal,
    ...hex,
    ...hex.map((form) => form.replace(/&#x[0-9a-f]+/g, (each) => `&#x${each.slice(3).toUpperCase()}`)),
  ];
}

/** In quotes of both kinds, and with backslashes, as a shell reads it and writes it (`set -x`, `printf %q`, shlex). */
export function inShell(text: string): string[] {
  return [
    text.replaceAll("'", "'\\''"),
    text.replaceAll("'", `'"'"'`),
    text.replace(/["\\$`]/g, '\\$&'),
    text.replace(/["\\$`!]/g, '\\$&'),
    text.replace(/[^\p{L}\p{N}_@%+=:,./~-]/gu, '\\$&'),
    text.replace(/[^\p{L}\p{N}_@%+=:./~-]/gu, '\\$&'),
    text.replace(/[^\p{L}\p{N}_@%+=:,./-]/gu, '\\$&'),
  ];
}

/** As a name in an address or of a file; none that could be a common word. */
export function asSlug(text: string): string[] {
  const plain = text.normalize('NFKD').replace(/\p{M}/gu, '');
  return ['-', '_'].flatMap((separator) => {
    const edges = new RegExp(`^${separator}+|${separator}+$`, 'g');
    const slug = plain.replace(/[^A-Za-z0-9]+/g, separator).replace(edges, '');
    return [slug, slug.toLowerCase()].filter((form) => form.length >= SHORTEST_SLUG && whyNotMasked(form) === null);
  });
}

/** A shorter slug is in many logs. Characters. */
const SHORTEST_SLUG = 8;
