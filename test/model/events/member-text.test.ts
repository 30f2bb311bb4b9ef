import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseEditedEvent } from '../../../model/events/edited-event.ts';
import { getMemberText } from '../../../model/events/json/member-text.ts';

it.each([
  ['{"a":1}', '1'],
  ['{ "b" : [1,{"a":2}] , "a" : -1.50e+3 }', '-1.50e+3'],
  ['{"a":"}\\",","b":"a"}', '"}\\","'],
  ['{"\\u0061":null,"b":{}}', 'null'],
  ['{"a":1,"a":{"a":[ ]}}', '{"a":[ ]}'],
  ['{}', undefined],
  [' {"b":"\\\\" , "c":"\\"a\\":1"} ', undefined],
])('in %s the member is %s', (json, text) => {
  expect(getMemberText(json, 'a')).toBe(text);
});

it('finds the same member as JSON.parse in any object', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), fc.nat(3), (rest, value, indent) => {
      const json = JSON.stringify({ ...rest, event: value }, null, indent);
      expect(JSON.parse(getMemberText(json, 'event') ?? '')).toEqual(JSON.parse(json).event);
    }),
  );
});

it('an edited event inherits missing attributes of the original', () => {
  const original = { id: '1', source: '/s', type: 't' };
  const text = (json: string) => Buffer.from(parseEditedEvent(json, original).json).toString();
  expect(text('{}')).toBe('{"specversion":"1.0","id":"1","source":"/s","type":"t"}');
  expect(text('{ "id":"2","data":1.0 }')).toBe('{"specversion":"1.0","source":"/s","type":"t", "id":"2","data":1.0 }');
  expect(() => parseEditedEvent('[]', original)).toThrow('no JSON object');
  expect(() => parseEditedEvent('{"id":null}', original)).toThrow();
});
