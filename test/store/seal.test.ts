import { expect, test } from 'vitest';
import { Cipher } from '../../store/sealed/seal.ts';

test('a JSON Schema with $id and $ref is decrypted unchanged, at any depth', () => {
  const seal = new Cipher([{ id: '00112233445566aa', key: new Uint8Array(32).fill(1) }]);
  const place = { collection: 'functions', id: 'one', field: 'spec' };
  const nested = { $ref: 'a.json', $id: 'urn:a', allOf: [{ $ref: '#/$defs/b', $id: 'urn:b' }, { $id: 'urn:c' }] };
  const bytes = new Uint8Array([36, 114, 101, 102, 0]);
  const value = { schema: nested, alone: { $ref: 'b.json' }, at: new Date(0), none: null };
  expect(seal.open(place, seal.seal(place, value))).toEqual(value);
  expect(seal.open(place, seal.seal(place, [nested, { bytes }]))).toMatchObject([
    nested,
    { bytes: { buffer: expect.anything() } },
  ]);
});
