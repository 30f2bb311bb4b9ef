import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../store/audit/canonical-json.ts';
import { seedOf } from '../support/sweep.ts';

describe('canonical JSON', () => {
  it('follows RFC 8785 §3.2.2 and §3.2.3', () => {
    const value = { numbers: [333333333.3333333, 1e30, 4.5, 2e-3, 1e-27], literals: [null, true, false] };
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27]}',
    );
    const keys = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\ud83d\ude00': 5, '\u0080': 6, '\u00f6': 7 };
    expect(canonicalJson(keys)).toBe('{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}');
  });

  it('encodes as strings what JSON lacks', () => {
    expect(canonicalJson({ b: 9007199254740993n, a: Number.NaN, c: undefined })).toBe(
      '{"a":"NaN","b":"9007199254740993"}',
    );
    expect(canonicalJson([undefined, Buffer.from('ff00fe', 'hex'), '\ud800'])).toBe(
      '[null,{"base64":"/wD+"},"\\ud800"]',
    );
  });

  it('is equal for equal values, parses back, and is canonical itself', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(JSON.parse(text))).toBe(text);
      }),
      { seed: seedOf('canonical JSON') },
    );
  });
});
