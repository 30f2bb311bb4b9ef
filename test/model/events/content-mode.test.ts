import { describe, expect, it } from 'vitest';
import { detectContentMode } from '../../../model/events/content-mode.ts';
import { parseMediaType } from '../../../model/events/media-type.ts';
import { getContentType } from '../../../model/events/read-event.ts';
import { thrown } from './received.ts';

// Guards: a receiver distinguishes the modes: no event is taken for plain data, or the reverse. Milliseconds.

describe('the mode', () => {
  it.each([
    ['application/cloudevents+json', false, 'structured'],
    ['Application/CloudEvents+JSON; Charset=UTF-8', false, 'structured'],
    ['application/cloudevents+json;charset="utf-8"', true, 'structured'],
    ['application/cloudevents+json; charset="ut\\f-8" ; profile=x;', false, 'structured'],
    ['application/cloudevents-batch+json; charset=utf-8', true, 'batch'],
    ['APPLICATION/CLOUDEVENTS-BATCH+JSON', false, 'batch'],
    ['application/json', true, 'binary'],
    ['text/plain; charset=iso-8859-1', true, 'binary'],
    [undefined, true, 'binary'],
    ['application/json', false, 'plain'],
    ['image/png', false, 'plain'],
    ['text/cloudevents+json', false, 'plain'],
    [undefined, false, 'plain'],
  ] as const)('of %s, with ce- headers: %s, is %s', (contentType, hasEventHeaders, mode) => {
    expect(detectContentMode(contentType, hasEventHeaders)).toBe(mode);
  });

  it.each([
    ['another format', 'application/cloudevents+avro'],
    ['another format of a batch', 'application/cloudevents-batch+protobuf'],
    ['no format', 'application/cloudevents'],
    ['no format of a batch', 'application/cloudevents-batch'],
    ['what only begins so', 'application/cloudevents-stream+json'],
    ['another charset', 'application/cloudevents+json; charset=utf-16'],
    ['another charset, quoted', 'application/cloudevents-batch+json; Charset="ISO-8859-1"'],
    ['JSON in another charset', 'application/json; charset=latin1'],
    ['two charsets', 'application/cloudevents+json; charset=utf-8; charset=utf-16'],
    ['two charsets, the other way', 'application/cloudevents+json; charset=utf-16; charset=utf-8'],
    ['no media type', 'json'],
    ['nothing', ''],
    ['two media types', 'application/json, text/plain'],
    ['a quote that does not close', 'application/json; charset="utf-8'],
  ])('%s is refused', (_, contentType) => {
    for (const hasEventHeaders of [true, false]) {
      expect(thrown(() => detectContentMode(contentType, hasEventHeaders)).code).toBe('unsupported_media_type');
    }
  });

  it('considers all headers of the name', () => {
    expect(getContentType([['accept', 'x/y']])).toBeUndefined();
    const twice = getContentType([
      ['content-type', 'application/json'],
      ['content-type', 'application/cloudevents+json'],
    ]);
    expect(thrown(() => detectContentMode(twice, false)).code).toBe('unsupported_media_type');
  });
});

it('a media type with many parameters, or unterminated ones, is parsed fast', () => {
  expect(parseMediaType(`a/b${';'.repeat(100_000)}`)).toMatchObject({ type: 'a', subtype: 'b' });
  expect(parseMediaType(`a/b;${' '.repeat(100_000)}x`)).toBeUndefined();
  expect(parseMediaType(`a/b; c="${'\\"'.repeat(50_000)}`)).toBeUndefined();
});
