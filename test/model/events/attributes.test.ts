import { describe, expect, it } from 'vitest';
import { readAttributes } from '../../../model/events/attributes.ts';
import { thrown } from './received.ts';

// Guards: valid attributes of an event (CloudEvents 1.0.2). Milliseconds.

const CORE = { specversion: '1.0', id: 'A234-1234-1234', source: '/mycontext', type: 'com.example.someevent' };
const attributes = (more: Record<string, unknown>) => readAttributes(Object.entries({ ...CORE, ...more }));
const refused = (more: Record<string, unknown>) => thrown(() => attributes(more));
const long = (length: number) => 'x'.repeat(length);

it('accepts those of the specification, and extensions of each type', () => {
  const more = {
    time: '2018-04-05T17:31:00Z',
    subject: '123',
    dataschema: 'https://example.com/schema?v=1',
    datacontenttype: 'application/json; charset=utf-8',
  };
  const extensions = {
    comexampleextension1: 'value',
    comexampleothervalue: 5,
    flag: false,
    least: -2_147_483_648,
    e: '',
  };
  expect(attributes({ ...more, ...extensions })).toEqual({ ...CORE, ...more, extensions });
  expect(attributes({})).toEqual({ ...CORE, extensions: {} });
});

describe('required', () => {
  it.each(['specversion', 'id', 'source', 'type'])('%s', (name) => {
    const invalid = { code: 'invalid_event', fields: [name] };
    expect(thrown(() => readAttributes(Object.entries(CORE).filter(([each]) => each !== name)))).toEqual(invalid);
    for (const value of ['', null, 1, true, ['1.0']])
      expect([value, refused({ [name]: value })]).toEqual([value, invalid]);
  });

  it('accepts version 1.0 only', () => {
    for (const specversion of ['1.1', '1', '0.3', '1.0.2', ' 1.0']) {
      expect(refused({ specversion })).toEqual({ code: 'invalid_event', fields: ['specversion'] });
    }
  });

  it('all faults are reported at once, limited to some of thousands', () => {
    expect(
      thrown(() =>
        readAttributes([
          ['time', 'now'],
          ['Foo', 1],
        ]),
      ).fields,
    ).toEqual([...Object.keys(CORE), 'time', 'Foo']);
    const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`N${index}`, 1]));
    expect(refused(many).fields).toHaveLength(20);
  });
});

describe('time', () => {
  it.each([
    '2018-04-05T17:31:00Z',
    '2018-04-05t17:31:00.123456789z',
    '2018-04-05T17:31:00+14:00',
    '2018-04-05T17:31:00-00:00',
    '2024-02-29T00:00:00Z',
    '2000-02-29T23:59:59Z',
    '0000-01-01T00:00:00Z',
  ])('%s', (time) => {
    expect(attributes({ time }).time).toBe(time);
  });

  it.each([
    '2023-02-30T00:00:00Z',
    '2023-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2023-04-31T00:00:00Z',
    '2023-13-01T00:00:00Z',
    '2023-00-10T00:00:00Z',
    '2023-01-00T00:00:00Z',
    '2023-01-01T24:00:00Z',
    '2023-01-01T00:60:00Z',
    '2016-12-31T23:59:60Z', // real leap second
    '2023-01-01T00:00:00',
    '2023-01-01 00:00:00Z',
    '2023-01-01T00:00:00.Z',
    '2023-01-01T00:00:00+24:00',
    '2023-01-01T00:00:00+0100',
    '2023-1-1T00:00:00Z',
    '2023-01-01',
    '٢٠٢٣-01-01T00:00:00Z',
    '',
  ])('not %s', (time) => {
    expect(refused({ time })).toEqual({ code: 'invalid_event', fields: ['time'] });
  });
});

describe('source and dataschema', () => {
  const absolute = [
    'https://github.com/cloudevents',
    'mailto:cncf-wg-serverless@lists.cncf.io',
    'urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66',
    'http://user:p%40ss@[2001:db8::1]:8080/a;b=c/@d?e=/f?',
    'file:///etc/hosts',
  ];
  const relative = [
    '/cloudevents/spec/pull/123',
    '1-555-123-4567',
    './a:b',
    '//host/path',
    '?q',
    '#f',
    '/x#y',
    'a/b:c',
  ];
  const neither = [
    'with space',
    '/100%',
    '/%zz',
    '/ä',
    '/<a>',
    '/a#b#c',
    'http://[::1',
    'http://host:port/',
    ':x',
    '1:foo',
    '/a|b',
    '/a\\b',
    '/[x]',
  ];

  it.each(absolute)('%s is both', (uri) => {
    expect(attributes({ source: uri, dataschema: uri })).toMatchObject({ source: uri, dataschema: uri });
  });
  it.each(relative)('%s is a source', (uri) => {
    expect(attributes({ source: uri }).source).toBe(uri);
    expect(refused({ dataschema: uri })).toEqual({ code: 'invalid_event', fields: ['dataschema'] });
  });
  it.each(neither)('%s is neither', (uri) => {
    expect(refused({ source: uri, dataschema: uri })).toEqual({
      code: 'invalid_event',
      fields: ['source', 'dataschema'],
    });
  });
  it('an absolute URI has no fragment', () => {
    expect(refused({ dataschema: 'https://example.com/schema#x' }).fields).toEqual(['dataschema']);
  });
});

it('datacontenttype is a media type', () => {
  expect(attributes({ datacontenttype: 'Text/X-y+z;a="b c"' }).datacontenttype).toBe('Text/X-y+z;a="b c"');
  for (const datacontenttype of ['json', 'a/', '/b', 'a/b c', 'a/b;c=d e', '', 5]) {
    expect(refused({ datacontenttype })).toEqual({ code: 'invalid_event', fields: ['datacontenttype'] });
  }
});

it('a subject is not empty', () => {
  expect(refused({ subject: '' })).toEqual({ code: 'invalid_event', fields: ['subject'] });
});

describe('extensions', () => {
  it.each(['a', '9', 'traceparent', 'constructor', 'tostring', long(64)])('may be named %s', (name) => {
    expect(Object.entries(attributes({ [name]: 'v' }).extensions)).toEqual([[name, 'v']]);
  });
  it.each(['Foo', 'foo_bar', 'foo-bar', 'föö', '', 'a b', 'data', 'data_base65', '__proto__', 'a\n', long(65)])(
    'may not be named %j, even with null',
    (name) => {
      for (const value of ['v', null]) {
        expect(thrown(() => readAttributes([...Object.entries(CORE), [name, value]]))).toEqual({
          code: 'invalid_event',
          fields: [name],
        });
      }
    },
  );
  it('are absent when they are null', () => {
    expect(attributes({ subject: null, ext: null })).toEqual({ ...CORE, extensions: {} });
  });
  it.each([[1.5], [2_147_483_648], [-2_147_483_649], [1e300], [{ a: 1 }], [['a']]])('may not be %j', (ext) => {
    expect(refused({ ext })).toEqual({ code: 'invalid_event', fields: ['ext'] });
  });
});

describe('strings', () => {
  const disallowed = [
    '\0',
    '\n',
    '\u001f',
    '\u007f',
    '\u0085',
    '\ud800',
    '\udead\ud800',
    '\ufdd0',
    '\uffff',
    '\u{1fffe}',
  ];
  it.each(disallowed.map((value) => [value]))('may not contain %j', (value) => {
    for (const name of ['id', 'type', 'subject', 'ext']) {
      expect(refused({ [name]: `a${value}b` })).toEqual({ code: 'invalid_event', fields: [name] });
    }
  });
  it('may contain all other characters', () => {
    const value = 'Euro € 😀 \ud800\udead \u00a0\ufeff\u2028\u202e"\\%';
    expect(attributes({ id: value, ext: value })).toMatchObject({ id: value, extensions: { ext: value } });
  });

  it.each([
    ['id', 256],
    ['source', 1_024],
    ['type', 256],
    ['subject', 1_024],
  ])('%s has at most %d characters', (name, most) => {
    expect(attributes({ [name]: long(most) })).toMatchObject({ [name]: long(most) });
    expect(refused({ [name]: long(most + 1) })).toEqual({ code: 'invalid_event', fields: [name] });
  });
  it('a character beyond the first plane counts once', () => {
    expect(attributes({ id: '😀'.repeat(256) }).id).toHaveLength(512);
    expect(refused({ id: '😀'.repeat(257) }).fields).toEqual(['id']);
  });

  it('all together are limited to 16 KiB of UTF-8', () => {
    const core = Object.entries(CORE).flat().join('').length;
    const room = 16_384 - core - 'ext'.length;
    expect(attributes({ ext: long(room) }).extensions['ext']).toHaveLength(room);
    const tooMuch = { code: 'invalid_event', fields: ['attributes'] };
    expect(refused({ ext: long(room + 1) })).toEqual(tooMuch);
    expect(refused({ ext: '€'.repeat(room / 2) })).toEqual(tooMuch);
    expect(refused({ [long(16_384)]: null })).toEqual(tooMuch);
    expect(refused(Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`e${index}`, true])))).toEqual(
      tooMuch,
    );
  });
});
