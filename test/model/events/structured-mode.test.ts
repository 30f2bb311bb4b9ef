import { describe, expect, it } from 'vitest';
import { read, thrown } from './received.ts';

// Guards: events in structured mode, with the specification's examples. Milliseconds.

const STRUCTURED = { 'content-type': 'application/cloudevents+json; charset=UTF-8' };
const CORE = '"specversion":"1.0","type":"com.example.someevent","source":"/mycontext","id":"A234-1234-1234"';
const event = (more: string) => read(STRUCTURED, `{${CORE}${more}}`);
const refused = (more: string) => thrown(() => event(more));

describe('the examples', () => {
  const written = (rest: string) => `{
    "specversion" : "1.0",
    "type" : "com.example.someevent",
    "source" : "/mycontext",
    "subject": null,
    "id" : "C234-1234-1234",
    "time" : "2018-04-05T17:31:00Z",
    "comexampleextension1" : "value",
    "comexampleothervalue" : 5,
    "unsetextension": null,
    ${rest}
}`;
  const attributes = {
    specversion: '1.0',
    type: 'com.example.someevent',
    source: '/mycontext',
    id: 'C234-1234-1234',
    time: '2018-04-05T17:31:00Z',
    extensions: { comexampleextension1: 'value', comexampleothervalue: 5 },
  };
  it.each([
    ['application/json', '{ "appinfoA" : "abc", "appinfoB" : 123 }', { appinfoA: 'abc', appinfoB: 123 }],
    ['application/xml', '"<much wow=\\"xml\\"/>"', undefined],
  ])('data of %s', (datacontenttype, data, parsed) => {
    const body = written(`"datacontenttype" : "${datacontenttype}", "data" : ${data}`);
    const read_ = read(STRUCTURED, body);
    expect(read_).toMatchObject({ attributes: { ...attributes, datacontenttype }, text: body });
    expect([read_.data, 'subject' in read_.attributes]).toEqual([parsed, false]);
  });
  it('a string, without a content type', () => {
    const read_ = read(STRUCTURED, written('"data" : "I\'m just a string"'));
    expect([read_.attributes, read_.data]).toEqual([attributes, "I'm just a string"]);
  });
  it('bytes', () => {
    const type = '"datacontenttype" : "application/vnd.apache.thrift.binary"';
    expect(read(STRUCTURED, written(`${type}, "data_base64" : "AAEC/w=="`)).data).toBeUndefined();
  });
});

it('an event is kept as sent: numbers, escapes, spaces; without its byte order mark', () => {
  const body = `{${CORE} ,\t"data":[12345678901234567890,1.0,"\\u001B\\u001b"]}\r\n`;
  for (const sent of [body, `\ufeff${body}`]) expect(read(STRUCTURED, sent).text).toBe(body);
});

it('headers of binary mode are allowed, and ignored', () => {
  const body = `{${CORE},"data":1}`;
  const headers = { ...STRUCTURED, 'ce-id': 'other', 'ce-datacontenttype': 'x', 'ce-type': '%C0%A0' };
  expect(read(headers, body)).toMatchObject({ attributes: { id: 'A234-1234-1234' }, text: body, data: 1 });
});

describe('data', () => {
  it('may be null, which differs from none', () => {
    expect([event(',"data":null').data, event('').data]).toEqual([null, undefined]);
  });
  it('of a type other than JSON must be a string', () => {
    expect(refused(',"datacontenttype":"text/plain","data":{}')).toEqual({ code: 'invalid_event', fields: ['data'] });
  });
  it('in two members is refused', () => {
    for (const data of ['1', 'null']) {
      expect(refused(`,"data":${data},"data_base64":"AA=="`)).toEqual({ code: 'invalid_event', fields: ['data'] });
    }
    expect(event(',"data":1,"data_base64":null').data).toBe(1);
  });
  it.each([
    [',"datacontenttype":"application/x+json","data_base64":"eyJhIjoxfQ=="', { a: 1 }],
    [',"data_base64":"eyJhIjoxfQ=="', { a: 1 }],
    [',"data_base64":"eyJhIjox"', undefined],
    [',"data_base64":"/w=="', undefined],
    [',"data_base64":""', undefined],
    [',"datacontenttype":"text/plain","data_base64":"MQ=="', undefined],
  ])('%s', (more, data) => {
    expect(event(more).data).toEqual(data);
  });
  it('in base64 is decoded, for each length and byte', () => {
    for (let length = 1; length < 300; length++) {
      const said = Array.from({ length }, (_, index) =>
        String.fromCodePoint(0x20 + ((index * 37 + length) % 0x3000)),
      ).join('');
      const base64 = Buffer.from(JSON.stringify(said)).toString('base64');
      expect(event(`,"data_base64":"${base64}"`).data).toBe(said);
    }
  });
  it.each([
    '"A"',
    '"AA="',
    '"AAA"',
    '"A==="',
    '"A=A="',
    '"AA-_"',
    '"AA== "',
    '"AA\\n=="',
    '1',
    '{}',
    '"===="',
    '"AAAA=="',
  ])('data_base64 %s is not base64', (value) => {
    expect(refused(`,"data_base64":${value}`)).toEqual({ code: 'invalid_event', fields: ['data_base64'] });
  });
});

it.each(['[]', '"x"', '1', 'null', 'true'])('%s is not an event', (body) => {
  expect(thrown(() => read(STRUCTURED, body))).toEqual({ code: 'invalid_event', fields: ['event'] });
});

it.each(['', '{', '\0', '\ufeff', `{${CORE}}}`])('%j is not JSON', (body) => {
  expect(thrown(() => read(STRUCTURED, body)).code).toBe('invalid_json');
});

it('invalid UTF-8 is not JSON', () => {
  const body = new Uint8Array([...new TextEncoder().encode(`{${CORE},"data":"`), 0xc0, 0xa0, 0x22, 0x7d]);
  expect(thrown(() => read(STRUCTURED, body)).code).toBe('invalid_json');
});

it.each([
  ['id', ',"id":"\\ud800"'],
  ['Foo', ',"Foo":1'],
  ['data_base65', ',"data_base65":"AA=="'],
  ['__proto__', ',"__proto__":{"id":"x"}'],
  ['ext', ',"ext":1.5'],
  ['ext', ',"ext":{}'],
  ['time', ',"time":"2023-02-30T00:00:00Z"'],
])('an invalid %s is named: %s', (field, more) => {
  expect(refused(more)).toEqual({ code: 'invalid_event', fields: [field] });
});

it('the last of repeated members counts', () => {
  expect(event(',"id":"other","data":1,"data":2')).toMatchObject({ attributes: { id: 'other' }, data: 2 });
});

it('an event may be nested deeply, also where nesting is invalid', () => {
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  expect(event(`,"data":${deep}`).text).toBe(`{${CORE},"data":${deep}}`);
  expect(refused(`,"ext":${deep}`)).toEqual({ code: 'invalid_event', fields: ['ext'] });
  expect(thrown(() => read(STRUCTURED, deep)).code).toBe('invalid_event');
});
