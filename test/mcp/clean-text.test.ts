import { expect, it } from 'vitest';
import { cleanText, maskPart, maskText } from '../../mcp/lib/error-text.ts';

it.each([
  ['an OSC 52 that sets the clipboard', 'a\u001b]52;c;ZXZpbA==\u0007b', 'ab'],
  ['colours', '\u001b[31mred\u001b[0m', 'red'],
  ['a sequence that is cut', 'a\u001b', 'a'],
  ['an overriding direction', 'a\u202eevil\u202c', 'aevil'],
  ['characters of no width', 'pass\u200bword\ufeff', 'password'],
  ['tags, in which text can be hidden', 'x\u{e0041}\u{e0042}y', 'xy'],
  ['a carriage return that hides what stands before it', 'rm -rf /\rls', 'rm -rf /\nls'],
  ['line ends of Windows', 'a\r\nb', 'a\nb'],
  ['tabs, lines, emoji and letters of all kinds', 'a\tb\nř漢😀', 'a\tb\nř漢😀'],
])('removes from %s all that a terminal or reader would obey', (_, text, clean) => {
  expect(cleanText(text)).toBe(clean);
});

const KEY = `sk-${'a1B2'.repeat(8)}`;

it('masks a secret, also one with an escape sequence in it', () => {
  expect(maskText(`the key is ${KEY}.`)).not.toContain(KEY);
  expect(maskText(`sk-\u001b[0m${KEY.slice(3)}`)).not.toContain(KEY.slice(3));
});

it('masks the part of a secret that crosses an edge', () => {
  const [head, tail] = [KEY.slice(0, 20), KEY.slice(20)];
  expect(maskPart('', `key ${head}`, tail)).toBe('key [redacted]');
  expect(maskPart(head, `${tail} end`, '')).toBe('[redacted] end');
});
