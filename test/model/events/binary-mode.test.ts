import { describe, expect, it } from 'vitest';
import { readEvent } from '../../../model/events/read-event.ts';
import { bytes, DEFAULTS, read, thrown } from './received.ts';

// Guards: requests in binary mode, with the specification's examples, and plain ones that become events. Milliseconds.

const HEADERS = {
  'ce-specversion': '1.0',
  'ce-type': 'com.example.someevent',
  'ce-source': '/mycontext',
  'ce-id': 'C234-1234-1234',
  'ce-time': '2018-04-05T17:31:00Z',
  'ce-comexampleextension1': 'value',
  'ce-comexampleothervalue': '5',
};
const ATTRIBUTES = {
  specversion: '1.0',
  id: 'C234-1234-1234',
  source: '/mycontext',
  type: 'com.example.someevent',
  time: '2018-04-05T17:31:00Z',
  extensions: { comexampleextension1: 'value', comexampleothervalue: '5' },
};
const JSON_TYPE = { 'content-type': 'application/json' };

describe('binary mode', () => {
  it('keeps numbers and escapes of JSON data as sent', () => {
    const body = ' {"big":12345678901234567890, "one":1.0,\n"esc":"\\u001B\\u001b\\ud800","k":1,"k":2}\n';
    const event = read({ ...HEADERS, 'content-type': 'application/json; charset=utf-8', host: 'x' }, body);
    expect(event.attributes).toEqual({ ...ATTRIBUTES, datacontenttype: 'application/json; charset=utf-8' });
    expect(event.text).toBe(
      '{"specversion":"1.0","id":"C234-1234-1234","source":"/mycontext","type":"com.example.someevent",' +
        '"time":"2018-04-05T17:31:00Z","datacontenttype":"application/json; charset=utf-8",' +
        `"comexampleextension1":"value","comexampleothervalue":"5","data":${body}}`,
    );
    expect(event.data).toMatchObject({ one: 1, esc: '\u001b\u001b\ud800', k: 2 });
  });

  it('without a Content-Type data is JSON, and none is added', () => {
    const event = read(HEADERS, '"I\'m just a string"');
    expect([event.data, event.attributes]).toEqual(["I'm just a string", ATTRIBUTES]);
    expect(JSON.parse(event.text)).toMatchObject({ data: "I'm just a string" });
  });

  it('bytes are encoded in base64', () => {
    const thrift = { ...HEADERS, 'content-type': 'application/vnd.apache.thrift.binary' };
    for (let length = 1; length < 260; length++) {
      const body = Uint8Array.from({ length }, (_, index) => (index * 151 + length) % 256);
      const event = read(thrift, body);
      expect(JSON.parse(event.text)).toMatchObject({ data_base64: Buffer.from(body).toString('base64') });
      expect([event.data, event.text.includes('"data":')]).toEqual([undefined, false]);
    }
  });

  it('decodes percent-encoded values', () => {
    const event = read({ ...HEADERS, 'ce-subject': 'Euro%20%E2%82%AC%20%f0%9f%98%80', 'ce-a': '%2541' }, '1');
    expect(event.attributes).toMatchObject({ subject: 'Euro € 😀', extensions: { a: '%41' } });
    expect(JSON.parse(event.text)).toMatchObject({ subject: 'Euro € 😀', a: '%41' });
  });

  it.each([
    ['a quoted value', '"a \\"b\\" \\\\ %41"', 'a "b" \\ A'],
    ['spaces and quotes of before 1.0.2', 'say "hi" now', 'say "hi" now'],
    ['what needed no encoding', '%61%62', 'ab'],
    ['a percent that encodes nothing', '100% %z %4', '100% %z %4'],
    ['a byte order mark', '%EF%BB%BFx', '\ufeffx'],
    ['JSON', '{"a":"%22,b"}', '{"a":"",b"}'],
  ])('%s', (_, value, said) => {
    const event = read({ ...HEADERS, 'ce-subject': value }, '1');
    expect(event.attributes.subject).toBe(said);
    expect(JSON.parse(event.text)).toMatchObject({ subject: said, data: 1 });
  });

  it.each([
    ['overlong', '%C0%A0'],
    ['overlong, beside what is not', 'a%41%C0%A0'],
    ['cut', '%E2%82'],
    ['cut by a character', '%E2x%82%AC'],
    ['a surrogate', '%ED%A0%80'],
    ['a surrogate as it is', '\ud800'],
    ['not ASCII', 'Euro €'],
    ['bytes of UTF-8 in Latin-1', 'Ã¤'],
    ['a control', 'a\tb'],
    ['a control, encoded', 'a%00b'],
    ['a quote that does not close', '"a'],
    ['a quote that closes before the end', '"a" b'],
  ])('%s: refused', (_, value) => {
    for (const name of ['subject', 'ext']) {
      const act = () => read({ ...HEADERS, [`ce-${name}`]: value }, '1');
      expect(thrown(act)).toEqual({ code: 'invalid_event', fields: [name] });
    }
  });

  it.each(['specversion', 'id', 'source', 'type'])('without ce-%s it is invalid, and not plain', (name) => {
    const invalid = { code: 'invalid_event', fields: [name] };
    const rest = Object.entries(HEADERS).filter(([each]) => each !== `ce-${name}`);
    expect(thrown(() => read({ ...JSON_TYPE, ...Object.fromEntries(rest) }, '{}'))).toEqual(invalid);
    expect(thrown(() => read({ ...JSON_TYPE, ...HEADERS, [`ce-${name}`]: '' }, '{}'))).toEqual(invalid);
  });

  it('a single ce- header selects the mode', () => {
    expect(thrown(() => read({ ...JSON_TYPE, 'ce-foo': 'x' }, '{}')).fields).toContain('id');
  });

  it('a repeated attribute is refused', () => {
    const headers = [...Object.entries(HEADERS), ['ce-id', 'C234-1234-1234'] as const];
    const invalid = { code: 'invalid_event', fields: ['id'] };
    expect(thrown(() => readEvent({ headers, body: bytes('1') }, DEFAULTS))).toEqual(invalid);
  });

  it.each(['datacontenttype', 'data', 'data_base64', 'foo-bar', ''])('rejects ce-%s', (name) => {
    const act = () => read({ ...JSON_TYPE, ...HEADERS, [`ce-${name}`]: 'application/json' }, '{}');
    expect(thrown(act)).toEqual({ code: 'invalid_event', fields: [name] });
  });
});

describe('plain', () => {
  const attributes = { specversion: '1.0', ...DEFAULTS, extensions: {} };

  it('keeps numbers of JSON as sent', () => {
    const event = read(JSON_TYPE, '[12345678901234567890,1.0]');
    expect(event.attributes).toEqual({ ...attributes, datacontenttype: 'application/json' });
    expect(event.text).toBe(
      '{"specversion":"1.0","id":"evt_1","source":"/v1/functions/hello","type":"dev.mayfly.request",' +
        '"time":"2026-10-01T12:00:00Z","datacontenttype":"application/json","data":[12345678901234567890,1.0]}',
    );
  });

  it.each(['application/json', 'application/ld+json', 'TEXT/JSON'])(
    '%s is JSON, also with a byte order mark',
    (type) => {
      const event = read({ 'content-type': type }, '\ufeff{"a":null}');
      expect([event.data, event.text.endsWith(',"data":{"a":null}}')]).toEqual([{ a: null }, true]);
    },
  );

  it.each([{}, JSON_TYPE, { 'content-type': 'text/plain' }, { 'content-type': 'image/png' }])(
    'an empty body, %j, has no data',
    (headers) => {
      const event = read(headers, '');
      expect([event.data, event.text.includes('data"')]).toEqual([undefined, false]);
    },
  );

  it('a byte order mark alone is not JSON data', () => {
    expect(read(JSON_TYPE, '\ufeff').text).not.toContain('data"');
  });

  it.each(['text/plain', 'text/csv; charset=UTF-8'])('%s is a string', (type) => {
    const body = '\ufeffä\r\n\0"\\</script>';
    const event = read({ 'content-type': type }, body);
    expect([event.data, JSON.parse(event.text).data]).toEqual([undefined, body]);
  });

  it('text in another charset, or in invalid UTF-8, is bytes', () => {
    const latin1 = Uint8Array.of(0xe4);
    for (const [type, body] of [
      ['text/plain; charset=iso-8859-1', 'a'],
      ['text/plain', latin1],
    ] as const) {
      const event = JSON.parse(read({ 'content-type': type }, body).text);
      expect([event.data, event.data_base64]).toEqual([undefined, Buffer.from(body).toString('base64')]);
    }
  });

  it.each([
    ['not JSON', bytes('{')],
    ['a member after the data', bytes('1,"id":"other"')],
    ['two values', bytes('1 2')],
    ['a space', bytes(' ')],
    ['NUL', Uint8Array.of(0)],
    ['not UTF-8', Uint8Array.of(0x22, 0xff, 0x22)],
    ['a surrogate in UTF-8', Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22)],
    ['UTF-16', Uint8Array.of(0xff, 0xfe, 0x31, 0)],
    ['two byte order marks', bytes('\ufeff\ufeff1')],
  ])('%s is refused, without affecting the next event', (_, body) => {
    for (const headers of [{}, JSON_TYPE, { ...JSON_TYPE, ...HEADERS }]) {
      expect(thrown(() => read(headers, body))).toEqual({ code: 'invalid_json', fields: [] });
      expect(read(headers, '"ä"').data).toBe('ä');
    }
  });

  it('may be nested deeply', () => {
    const body = '['.repeat(100_000) + ']'.repeat(100_000);
    expect(read({}, body).text.endsWith(`"data":${body}}`)).toBe(true);
    expect(thrown(() => read({}, '['.repeat(100_000))).code).toBe('invalid_json');
  });
});
