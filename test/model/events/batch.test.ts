import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BatchItem, readBatch } from '../../../model/events/batch.ts';
import { bytes, read, text, thrown } from './received.ts';

// Guards: several events in one request are each read as sent, for any neighbours. Milliseconds.

const item = (id: string, more = '') =>
  `{ "specversion" : "1.0", "type" : "com.example.someevent", "source" : "/mycontext/4", "id" : "${id}"${more} }`;
const batch = (...items: string[]) => readBatch(bytes(`[${items.join(',')}]`));

/** Returns the text of an event, or its error code and fields. */
function said(one: BatchItem): string | string[] {
  if ('event' in one) return text(one.event.json);
  return [one.problem.code, ...(one.problem.options.fields ?? []).map(({ field }) => field)];
}

it('parses the example of the specification', () => {
  const first = item('B234', ',\n "datacontenttype" : "application/vnd.apache.thrift.binary", "data_base64" : "AAEC"');
  const second = item('C234', ', "comexampleothervalue" : 5, "data" : { "appinfoA" : "abc", "appinfoC" : true }');
  const events = readBatch(bytes(`\ufeff\r\n[\n  ${first},\n\t${second}\n]\n`));
  expect(events.map(said)).toEqual([first, second]);
  expect(events[1]).toMatchObject({
    event: {
      attributes: { id: 'C234', source: '/mycontext/4', extensions: { comexampleothervalue: 5 } },
      data: { appinfoA: 'abc', appinfoC: true },
    },
  });
});

it('a batch may be empty', () => {
  for (const none of ['[]', ' [ \n] ', '\ufeff[]']) expect(readBatch(bytes(none))).toEqual([]);
});

it('items keep their text: numbers, escapes, and strings that look like an end', () => {
  const items = [
    '12345678901234567890',
    '1.0',
    '"],{[}\\""',
    '"\\\\"',
    '"\\\\\\"],"',
    '"\\u001B\\u001b\\u0022]"',
    '"ä€😀,]"',
    '[[],[{}],{"a":[1,2]}]',
    '{"}":"{","]":["["]}',
  ].map((data, index) => item(String(index), `,"data":${data}`));
  expect(batch(...items).map(said)).toEqual(items);
});

it('items keep their text for any data and spacing', () => {
  const spaces = fc.constantFrom(undefined, 1, '\t');
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.json({ stringUnit: 'binary' }), spaces)), (all) => {
      const items = all.map(([data, space]) => item('1', `,"data":${JSON.stringify(JSON.parse(data), null, space)}`));
      expect(batch(...items).map(said)).toEqual(items);
    }),
  );
});

it('an invalid event does not affect the others', () => {
  const good = [item('1'), item('2')];
  const events = batch(item('1'), '1', '"a,b"', '[[1],2]', 'null', item('x', ',"Foo":1'), '{}', item('2'));
  expect(events.map(said)).toEqual([
    good[0],
    ...Array.from({ length: 4 }, () => ['invalid_event', 'event']),
    ['invalid_event', 'Foo'],
    ['invalid_event', 'specversion', 'id', 'source', 'type'],
    good[1],
  ]);
});

it('an event does not retain the memory of the others', () => {
  const [first] = batch(item('1'), item('2', `,"data":"${'x'.repeat(10_000)}"`));
  expect(first && 'event' in first && first.event.json.buffer.byteLength).toBe(item('1').length);
});

describe('as a whole', () => {
  it.each(['{}', '1', 'null', item('1')])('%s is not a batch', (body) => {
    expect(thrown(() => readBatch(bytes(body)))).toEqual({ code: 'invalid_event', fields: ['batch'] });
  });
  it.each(['', '[', '[1,]', '[1 2]', '[]]', '\0', '[\0]'])('%j is not JSON', (body) => {
    expect(thrown(() => readBatch(bytes(body))).code).toBe('invalid_json');
  });
  it('invalid UTF-8 is not JSON', () => {
    expect(thrown(() => readBatch(Uint8Array.of(0x5b, 0x22, 0xff, 0x22, 0x5d))).code).toBe('invalid_json');
  });

  it('has at most 1,000 events, or as many as given', () => {
    expect(batch(...Array.from({ length: 1_000 }, (_, id) => item(String(id))))).toHaveLength(1_000);
    const tooMany = { code: 'invalid_event', fields: ['batch'] };
    expect(thrown(() => batch(...Array.from({ length: 1_001 }, () => '1')))).toEqual(tooMany);
    expect(thrown(() => readBatch(bytes('[1,2,3]'), 2))).toEqual(tooMany);
    expect(readBatch(bytes('[1,2,3]'), 3)).toHaveLength(3);
  });

  it('may be nested deeply', () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    expect(batch(item('1', `,"data":${deep}`), deep).map(said)).toEqual([
      item('1', `,"data":${deep}`),
      ['invalid_event', 'event'],
    ]);
  });

  it('is refused where a single event is expected', () => {
    const act = () => read({ 'content-type': 'application/cloudevents-batch+json' }, '[]');
    expect(thrown(act).code).toBe('unsupported_media_type');
  });
});
