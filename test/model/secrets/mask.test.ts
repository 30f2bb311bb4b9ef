import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Mask } from '../../../model/secrets/mask.ts';
import { getUnmaskedReason } from '../../../model/secrets/maskable.ts';
import { listSecretForms } from '../../../model/secrets/secret-forms.ts';

const SECRET = 'Tr0ub4dor&3/é "x"';
const PEM = `-----BEGIN PRIVATE KEY-----
MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7
abc
VJTUt9Us8cKj+/MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMv
-----END PRIVATE KEY-----
`;
const shown = (secret: string, text: string) => new Mask([secret]).text(text);

describe('every form of a secret is masked, and no part of it is shown (case 52)', () => {
  const bytes = Buffer.from(SECRET);
  test.each<[string, string]>([
    ['as it is', SECRET],
    ['in JSON', JSON.stringify({ password: SECRET }).slice(13, -1)],
    ['in JSON of ASCII', SECRET.replace('é', '\\u00e9').replaceAll('"', '\\"')],
    ['in JSON with slashes that are escaped', JSON.stringify(SECRET).replace('/', '\\/').slice(1, -1)],
    ['in JSON for HTML', JSON.stringify(SECRET).replace('&', '\\u0026').slice(1, -1)],
    ['in a URL', encodeURIComponent(SECRET)],
    ['in a URL, in small digits', encodeURIComponent(SECRET).replace(/%../g, (each) => each.toLowerCase())],
    ['in a form', encodeURIComponent(SECRET).replaceAll('%20', '+')],
    ['as a name', 'Tr0ub4dor_3_e_x'],
    ['in a URL that is whole', encodeURI(SECRET)],
    ['in HTML', 'Tr0ub4dor&amp;3/é &quot;x&quot;'],
    ['in HTML of Go', 'Tr0ub4dor&amp;3/é &#34;x&#34;'],
    ['in HTML of ASCII', 'Tr0ub4dor&amp;3/&#233; &quot;x&quot;'],
    ['in HTML with slashes that are escaped', 'Tr0ub4dor&amp;3&#x2F;é &quot;x&quot;'],
    ['behind backslashes', 'Tr0ub4dor\\&3/é\\ \\"x\\"'],
    ['between double quotes', 'Tr0ub4dor&3/é \\"x\\"'],
    ['in octal', 'Tr0ub4dor&3/\\303\\251 "x"'],
    ['as a slug', 'tr0ub4dor-3-e-x'],
    ['as a slug that is dropped', 'Tr0ub4dor3_x'],
    ['in hex', bytes.toString('hex')],
    ['in HEX', bytes.toString('hex').toUpperCase()],
    ['in base64', bytes.toString('base64')],
    ['in base64url', bytes.toString('base64url')],
  ])('%s', (_form, text) => {
    const told = shown(SECRET, `<${text}>`);
    expect(told.replaceAll('"', '')).toBe('<***>');
  });

  test.each([
    ["it's a se(cret)", "it'\\''s a se(cret)"],
    ["it's a se(cret)", `it'"'"'s a se(cret)`],
    ["it's a se(cret)", "it\\'s\\ a\\ se\\(cret\\)"],
    ["it's a se(cret)", 'it&#39;s a se(cret)'],
    ["it's a se(cret)", 'it&#x27;s a se(cret)'],
    ['line-0ne\nline-tw0', 'line-0ne\\nline-tw0'],
  ])('%j as %s', (secret, text) => {
    expect(shown(secret, `<${text}>`)).toBe('<***>');
  });

  test.each([1, 2, 3])('in base64, %i bytes after the start', (offset) => {
    for (const alphabet of ['base64', 'base64url'] as const) {
      const text = Buffer.concat([Buffer.alloc(offset, 'u'), bytes, Buffer.from('behind')]).toString(alphabet);
      const told = shown(SECRET, text);
      const decoded = Buffer.from(told.replace('***', '').slice(0, 4), 'base64').toString();
      expect(told).toMatch(/^.{0,4}\*\*\*[A-Za-z0-9=+/_-]{1,11}$/);
      expect(decoded).not.toContain('T');
    }
  });

  test('a key of many lines is masked line by line, in each form, and as base64(1) breaks it', () => {
    for (const line of PEM.trim()
      .split('\n')
      .filter(({ length }) => length >= 4)) {
      for (const form of [line, Buffer.from(line).toString('hex'), encodeURIComponent(line)]) {
        expect(shown(PEM, `  ${form}\r\n`)).toBe('  ***\r\n');
      }
    }
    const broken =
      Buffer.from(PEM)
        .toString('base64')
        .match(/.{1,76}/g) ?? [];
    expect(shown(PEM, broken.join('\n'))).toBe(broken.map(() => '***').join('\n'));
    expect(shown(PEM, PEM)).toBe('***');
  });

  test('overlapping secrets are masked as one, and so is a nested one', () => {
    const mask = new Mask(['abcdef12', 'ef1234xy', 'cd-ef']);
    expect(mask.text('<abcdef1234xy> <cd-ef> <abcdef1>')).toBe('<***> <***> <abcdef1>');
  });

  test('a truncated secret is masked too', () => {
    const mask = new Mask(['abcdefghijk1']);
    expect(mask.bytes(Buffer.from('see abcdefg'), { isCut: true }).toString()).toBe('see ***');
    expect(mask.bytes(Buffer.from('see abcdefg')).toString()).toBe('see abcdefg');
  });
});

/** Generates texts of few letters, so that secrets overlap, repeat, and nearly match. */
const text = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom('a', 'b', 'A', '1', '/', '"', '\n', 'é', ' ', '%', '\\'), minLength, maxLength });
const secret = text(4, 24).filter((value) => getUnmaskedReason(value) === null);
const coded = fc.record({ value: secret, form: fc.nat(), before: text(0, 9), after: text(0, 9) });

test('for any chunks the output is the same, has no form of a secret, and little is buffered', () => {
  const given = fc.record({
    secrets: fc.array(secret, { minLength: 1, maxLength: 3 }),
    parts: fc.array(coded, { maxLength: 6 }),
    cuts: fc.array(fc.nat({ max: 40 }), { maxLength: 40 }),
  });
  fc.assert(
    fc.property(given, ({ secrets, parts, cuts }) => {
      const mask = new Mask(secrets);
      const forms = secrets.flatMap(listSecretForms);
      const longest = Math.max(...forms.map(({ bytes }) => bytes.length));
      const all = Buffer.concat(
        parts.flatMap(({ before, form, after }) => [
          Buffer.from(before),
          forms[form % forms.length]?.bytes ?? Buffer.alloc(0),
          Buffer.from(after),
        ]),
      );
      const whole = mask.bytes(all);
      const stream = mask.stream();
      const pieces: Buffer[] = [];
      let at = 0;
      for (const cut of [...cuts, all.length]) {
        pieces.push(stream.push(all.subarray(at, at + cut)));
        at = Math.min(all.length, at + cut);
        const held = mask.bytes(all.subarray(0, at)).length - Buffer.concat(pieces).length;
        expect(held).toBeLessThan(longest);
      }
      pieces.push(stream.end());
      expect(Buffer.concat(pieces).toString('latin1')).toBe(whole.toString('latin1'));
      for (const { bytes } of forms) expect(whole.includes(Buffer.from(bytes))).toBe(false);
    }),
    { numRuns: 150 },
  );
});

test.each([
  ['a', 'less than 4 characters'],
  ['abc\n', 'less than 4 characters'],
  ['password', 'a common word'],
  ['True', 'a common word'],
  ['hunter', 'a word of less than 8 letters'],
  ['12345', 'a number of less than 8 characters'],
  ['xxxxxxxxxxxx', 'one character many times'],
])('%j is not masked, as it is %s (case 53)', (value, why) => {
  expect(getUnmaskedReason(value)).toContain(why);
  expect(shown(value, `a log with a ${value} in it`)).toBe(`a log with a ${value} in it`);
});

test.each(['hunter2', 'correcthorse', 'k3y!', '12345678'])('%j is masked', (value) => {
  expect(getUnmaskedReason(value)).toBeNull();
  expect(shown(value, value)).toBe('***');
});

test('repeated near misses of a secret are masked in linear time', () => {
  const mask = new Mask([`${'a'.repeat(20_000)}b`]);
  const time = (bytes: number) => {
    const began = process.cpuUsage();
    mask.bytes(Buffer.alloc(bytes, 'a'));
    const { user } = process.cpuUsage(began);
    return user;
  };
  time(100_000);
  expect(time(800_000)).toBeLessThan(80 * (time(100_000) + 1_000));
});
