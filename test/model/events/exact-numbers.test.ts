import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesFilter } from '../../../model/events/hook-filter.ts';
import { canonicalizeNumber, parseExactJson } from '../../../model/events/json/exact-json.ts';
import { RawJson, stringifyRaw } from '../../../model/events/json/raw-json.ts';
import { getScalarText, resolvePointer, resolvePointerText } from '../../../model/events/json-pointer.ts';
import type { FunctionSpec } from '../../../model/functions/function.ts';
import { queueKeysOf } from '../../../services/intake/function-cache.ts';
import { parseKey } from '../../../services/runs/listed-contents.ts';
import { read } from './received.ts';

const [ODD, EVEN] = ['9007199254740993', '9007199254740992'];
const JSON_TYPE = { 'content-type': 'application/json' };
const STRUCTURED = { 'content-type': 'application/cloudevents+json' };
const BASE64 = `{"specversion":"1.0","id":"1","source":"/s","type":"t","data_base64":"${btoa(`{"id":${ODD}}`)}"}`;

describe('a number of an event', () => {
  it.each([
    [JSON_TYPE, `{"id": ${ODD}}`],
    [
      STRUCTURED,
      `{"data":{"id":${EVEN}},"specversion":"1.0","id":"1","source":"/s","type":"t","data":{"id": ${ODD} }}`,
    ],
    [STRUCTURED, BASE64],
  ])('is kept exactly in each mode: %j %s', (headers, body) => {
    expect(getScalarText(read(headers, body), '/id')).toBe(ODD);
  });

  it('gives distinct keys in every rule', () => {
    const rules = { concurrency: [{ key: '/id' }], throttle: { key: '/id' }, debounce: { key: '/id' }, batch: null };
    const keysOf = (id: string) => queueKeysOf(rules as unknown as FunctionSpec, read(JSON_TYPE, `{"id":${id}}`));
    expect(keysOf(ODD)).toEqual({ keys: [ODD], throttleKey: ODD, gatheringKey: ODD, lane: ODD });
    expect(keysOf(EVEN)).toEqual({ keys: [EVEN], throttleKey: EVEN, gatheringKey: EVEN, lane: EVEN });
    expect(keysOf('1e400').keys).not.toEqual(keysOf('1e401').keys);
    expect(keysOf('7.0')).toEqual(keysOf('7'));
    expect(() => keysOf(`1${'0'.repeat(1_024)}1`)).toThrow('bytes');
  });

  it('matches only the filter with that number', () => {
    const filter = { types: null, conditions: [{ pointer: '/id', in: [ODD, '"7"', 'null'] }] };
    const passes = (id: string) => matchesFilter(filter, read(JSON_TYPE, `{"id":${id}}`));
    expect([ODD, '"7"', 'null', `${ODD}.0`].map(passes)).toEqual([true, true, true, true]);
    expect([EVEN, '7', '{}', 'false'].map(passes)).toEqual([false, false, false, false]);
    expect(matchesFilter(filter, read(JSON_TYPE, '[]'))).toBe(false);
  });

  it('is found by its exact value', () => {
    expect(parseKey(ODD)).toEqual([`"${ODD}"`, ODD]);
    expect(parseKey('1e400')).toEqual(['"1e400"', '1e400']);
    expect(parseKey('1.10')).toEqual(['"1.10"', '1.1']);
  });
});

it.each([
  ['1', '1.0', '10e-1', '0.1E+1'],
  ['0', '-0', '0.00', '0e999999999999999999'],
  ['1.1', '1.10', '110e-2'],
  ['1e+21', '1000000000000000000000'],
  ['1e400', '10e399', `1${'0'.repeat(400)}`],
])('%s has one canonical form', (form, ...others) => {
  expect([form, ...others].map(canonicalizeNumber)).toEqual([form, ...others].map(() => form));
});

it('doubles keep their JSON form', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
      expect(canonicalizeNumber(JSON.stringify(number))).toBe(JSON.stringify(number));
    }),
  );
});

it('a pointer finds the text of its value', () => {
  const at = fc.array(fc.oneof(fc.constantFrom('a', '0', '1', '~/', ''), fc.string()), { maxLength: 3 });
  fc.assert(
    fc.property(fc.jsonValue(), at, fc.nat(2), (value, tokens, indent) => {
      const json = JSON.stringify(value, null, indent);
      const pointer = tokens.map((token) => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
      const text = resolvePointerText(json, pointer);
      expect(text === undefined ? undefined : JSON.parse(text)).toEqual(resolvePointer(JSON.parse(json), pointer));
    }),
  );
  expect(resolvePointerText('[[ 1.10 , 2 ], {"a/b": 1e400}]', '/0/0')).toBe('1.10');
  expect(resolvePointerText('[[ 1.10 , 2 ], {"a/b": 1e400}]', '/1/a~1b')).toBe('1e400');
  expect(resolvePointer([1, 2], '/length')).toBeUndefined();
  expect(resolvePointerText('[1]', '/01')).toBeUndefined();
});

it('comparison is exact: equal values are equal in any text, different ones differ', () => {
  expect(parseExactJson('{"b": 1.0, "a": "x"}')).toEqual(parseExactJson('{"a":"\\u0078","b":1}'));
  expect(parseExactJson(`[${ODD}]`)).not.toEqual(parseExactJson(`[${EVEN}]`));
  expect(parseExactJson('["1"]')).not.toEqual(parseExactJson('[1]'));
});

it('raw text is kept in an answer', () => {
  const value = { a: new RawJson('{"n": 1.10}'), b: ['"', new RawJson(ODD)], c: undefined };
  expect(stringifyRaw(value)).toBe(`{"a":{"n": 1.10},"b":["\\"",${ODD}]}`);
});
