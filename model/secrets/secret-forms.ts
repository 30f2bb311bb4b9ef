import { htmlForms, shellForms, slugForms } from './escaped-forms.ts';
import { getUnmaskedReason, isMaskedLine } from './maskable.ts';

/** Form of a secret that is masked. */
export interface SecretForm {
  bytes: Uint8Array;
  /**
   * Neighboring characters that carry bits of the secret: 1 before it, and 1 plus padding after it, for base64 with
   * another alignment.
   */
  before: 0 | 1;
  after: 0 | 1;
}

/** Line lengths of wrapped base64: MIME (RFC 2045) and PEM (RFC 7468). */
const COLUMNS = [76, 64];

/** Lists all forms of a secret in output; none when it is not masked. */
export function listSecretForms(value: string): SecretForm[] {
  if (getUnmaskedReason(value) !== null) return [];
  const whole = value.trim();
  const lines = whole
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter(isMaskedLine);
  const forms = [...new Set([value, whole, ...lines])].flatMap(encodeForms);
  return unique([...forms, ...wrapBase64(value), ...wrapBase64(whole)]);
}

function encodeForms(text: string): SecretForm[] {
  const bytes = Buffer.from(text);
  const hex = bytes.toString('hex');
  const escaped = [...jsonForms(text), ...urlForms(text), ...htmlForms(text), ...shellForms(text), ...slugForms(text)];
  const texts = [text, ...escaped, hex, hex.toUpperCase()];
  return [...texts.map(plain), ...[0, 1, 2].flatMap((offset) => base64At(bytes, offset))];
}

function plain(text: string): SecretForm {
  return { bytes: Buffer.from(text), before: 0, after: 0 };
}

/** Returns the forms of JSON encoders of JavaScript, Python, Go and PHP. */
function jsonForms(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1);
  const ascii = json.replace(/[\u007f-\uffff]/g, unicodeEscape);
  const html = json.replace(/[<>&\u2028\u2029]/g, unicodeEscape);
  return [json, ascii, html, json.replaceAll('/', '\\/'), ascii.replaceAll('/', '\\/')];
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Returns the forms of encodeURIComponent, encodeURI, strict RFC 3986, paths and forms; hex digits in both cases. */
function urlForms(text: string): string[] {
  const component = encodeURIComponent(text);
  const strict = component.replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
  const forms = [component, encodeURI(text), strict].flatMap((form) => [
    form,
    form.replaceAll('%2F', '/'),
    form.replaceAll('%20', '+'),
    form.replaceAll('%20', '+').replaceAll('~', '%7E'),
  ]);
  return forms.flatMap((form) => [form, form.replace(/%[0-9A-F]{2}/g, (each) => each.toLowerCase())]);
}

/** @param offset bytes before the text in its group of three */
function base64At(bytes: Uint8Array, offset: number): SecretForm[] {
  const padded = Buffer.concat([Buffer.alloc(offset), bytes]);
  const first = Math.ceil((offset * 8) / 6);
  const end = Math.floor((padded.length * 8) / 6);
  const edges = { before: offset === 0 ? 0 : 1, after: padded.length % 3 === 0 ? 0 : 1 } as const;
  return (['base64', 'base64url'] as const).map((alphabet) => {
    return { bytes: Buffer.from(padded.toString(alphabet).slice(first, end)), ...edges };
  });
}

/** Returns the lines of wrapped base64, as written by base64(1) and openssl(1). */
function wrapBase64(text: string): SecretForm[] {
  const whole = base64At(Buffer.from(text), 0)[0];
  if (!whole) return [];
  const coded = Buffer.from(whole.bytes).toString('latin1');
  return COLUMNS.filter((columns) => coded.length > columns).flatMap((columns) => {
    const lines = coded.match(new RegExp(`.{1,${columns}}`, 'g')) ?? [];
    return lines.filter((line) => line.length >= 4).map((line) => ({ ...plain(line), after: whole.after }));
  });
}

function unique(forms: readonly SecretForm[]): SecretForm[] {
  const known = new Map<string, SecretForm>();
  for (const form of forms) {
    const key = Buffer.from(form.bytes).toString('latin1');
    const same = known.get(key);
    const before = same?.before || form.before;
    const after = same?.after || form.after;
    known.set(key, { bytes: form.bytes, before, after });
  }
  return [...known.values()];
}
