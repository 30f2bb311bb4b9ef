/** Media type (RFC 2046) of Content-Type or `datacontenttype`. */
interface MediaType {
  /** Lower case. */
  type: string;
  /** Lower case, with its suffix. */
  subtype: string;
  /** By name in lower case; values without quotes. */
  parameters: ReadonlyMap<string, string>;
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const ESSENCE = new RegExp(`^(${TOKEN})/(${TOKEN})`);
/** RFC 9110 §5.6.6: the parameter after a semicolon is optional. */
const PARAMETER = new RegExp(
  `[ \\t]*;[ \\t]*(?:(${TOKEN})=(?:(${TOKEN})|"((?:[\\t\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]|\\\\[\\t\\x20-\\x7e])*)"))?`,
  'gy',
);
const TRAILING_SPACE = /^[ \t]*$/;

/** Undefined: no media type, or a duplicate parameter. */
export function parseMediaType(text: string): MediaType | undefined {
  const [essence, type, subtype] = ESSENCE.exec(text) ?? [];
  if (essence === undefined || type === undefined || subtype === undefined) return undefined;
  const parameters = new Map<string, string>();
  const rest = text.slice(essence.length);
  let end = 0;
  for (const [whole, name, token, quoted] of rest.matchAll(PARAMETER)) {
    end += whole.length;
    if (name === undefined) continue;
    if (parameters.has(name.toLowerCase())) return undefined;
    parameters.set(name.toLowerCase(), token ?? (quoted ?? '').replace(/\\(.)/g, '$1'));
  }
  if (!TRAILING_SPACE.test(rest.slice(end))) return undefined;
  return { type: type.toLowerCase(), subtype: subtype.toLowerCase(), parameters };
}

/** True when the subtype is `json` or ends in `+json` (JSON format §3.1.1). */
export function isJson({ subtype }: MediaType): boolean {
  return subtype === 'json' || subtype.endsWith('+json');
}

/** True when the charset is UTF-8 or absent. */
export function isUtf8({ parameters }: MediaType): boolean {
  return (parameters.get('charset') ?? 'utf-8').toLowerCase() === 'utf-8';
}
