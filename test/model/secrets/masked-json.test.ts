import { expect, test } from 'vitest';
import { quoteMasked } from '../../../model/secrets/masked-json.ts';

test.each([
  ['{"pin":***}', { pin: '***' }],
  ['[-***.5, 1, ***, 2]', ['***', 1, '***', 2]],
  [' *** ', '***'],
  ['{"a":"***","b\\"***":[***]}', { a: '***', 'b"***': ['***'] }],
  ['{"***":***,"c":"\\\\"}', { '***': '***', c: '\\' }],
])('%s is quoted where it is masked only', (text, expected) => {
  expect(JSON.parse(quoteMasked(text))).toEqual(expected);
});

test.each(['{"a": "***', '"\\', '***,', '[1, 2]', '{"a":1}***'])('%s stays as invalid as it was', (text) => {
  const isJson = (what: string) => {
    try {
      JSON.parse(what);
      return true;
    } catch {
      return false;
    }
  };
  expect(isJson(quoteMasked(text))).toBe(isJson(text));
});

test('a hostile text takes linear time', () => {
  for (const text of ['\\"'.repeat(2_000_000), `"${'\\"'.repeat(2_000_000)}`]) {
    const quoted = quoteMasked(text);
    expect(quoted.length).toBeGreaterThan(0);
    expect(quoted === text).toBe(true); // compared here: vitest would print it
  }
  const stars = quoteMasked('*'.repeat(4_000_000));
  expect(stars.length).toBeGreaterThan(0);
  expect(stars).toBe('"***"');
});
