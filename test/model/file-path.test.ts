import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { filePathOf, routedPath } from '../../api/http/file-path.ts';
import { filePathInUrl, percentDecode, percentEncode } from '../../model/files/file-path.ts';
import { seedOf } from '../support/sweep.ts';

const ROUTE = 'http://localhost/v1/sandboxes/sbx-0000000000000000/files/';

/** Merges leading slashes: several mean the same as one, and the URL omits the first. */
function once(path: Uint8Array): string {
  return Buffer.from(path).toString('latin1').replace(/^\/+/, '/');
}

describe('a path in a URL', () => {
  it('is decoded unchanged, through any URL parser', () => {
    const path = fc
      .uint8Array({ minLength: 0, maxLength: 40 })
      .map((bytes) => Buffer.concat([Buffer.from('/'), bytes.filter((byte) => byte !== 0)]));
    const likely = fc
      .array(fc.constantFrom('.', '..', '', 'a', '%2e', '%', '?', '#', '\\', '\n', ' ', ';', '+'))
      .map((parts) => Buffer.from(`/${parts.join('/')}`));
    fc.assert(
      fc.property(fc.oneof(path, likely), (bytes) => {
        const { href } = new URL(ROUTE + filePathInUrl(bytes));
        const back = filePathOf(routedPath(new Request(href))).bytes;
        expect(once(back)).toBe(once(bytes));
      }),
      { seed: seedOf('file paths'), numRuns: 2_000 },
    );
  });

  it.each([
    ['/', ''],
    ['/etc/passwd', 'etc/passwd'],
    ["/a b'c", 'a%20b%27c'],
    ['/a/../b', '%2Fa%2F..%2Fb'],
    ['/..', '%2F..'],
    ['/a/...', 'a/...'],
  ])('%s is %s', (path, text) => {
    expect(filePathInUrl(Buffer.from(path))).toBe(text);
  });

  it('is invalid with a lone percent sign', () => {
    expect([percentDecode('%'), percentDecode('a%4'), percentDecode('%zz')]).toEqual([null, null, null]);
    expect(percentEncode(percentDecode('%fF%41+~') ?? new Uint8Array())).toBe('%FFA%2B~');
  });
});
