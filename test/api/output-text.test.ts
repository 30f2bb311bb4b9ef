import { expect, it } from 'vitest';
import { countIncompleteBytes } from '../../model/utf8.ts';
import { textOrBase64 } from '../../services/commands/command-follower.ts';

it.each([
  ['', 0],
  ['61', 0],
  ['c3', 1],
  ['c3a4', 0],
  ['e282', 2],
  ['e282ac', 0],
  ['f09f98', 3],
  ['f09f9880', 0],
  ['61f0', 1],
  ['ff', 0], // starts no character
  ['f5', 0],
  ['80808080', 0],
])('of %s, %i bytes are an incomplete character', (hex, bytes) => {
  expect(countIncompleteBytes(Buffer.from(hex, 'hex'))).toBe(bytes);
});

it('output cut in the middle of a character remains text', () => {
  const bytes = Buffer.from('aä').subarray(0, 2);
  expect(textOrBase64(bytes, { isCut: true })).toEqual({ text: 'a' });
  expect(textOrBase64(bytes, { isCut: false })).toEqual({ base64: bytes.toString('base64') });
  expect(textOrBase64(Buffer.from('\ufeffa\0'), { isCut: false })).toEqual({ text: '\ufeffa\0' });
});
