import { MayflyError } from '../errors.ts';
import { isJson, isUtf8, parseMediaType } from './media-type.ts';

/** Content mode of a request (HTTP protocol binding §1.3); `plain`: no event, so the body becomes the data of one. */
export type ContentMode = 'structured' | 'binary' | 'batch' | 'plain';

/** Common prefix of the media subtypes of event formats. */
const EVENT_FORMAT = 'cloudevents';

/**
 * Determines the content mode.
 * @param contentType value of Content-Type; undefined: absent
 * @param hasEventHeaders true when a header starts with `ce-`
 * @throws MayflyError unsupported_media_type: no media type, an event format other than JSON, or JSON in another
 * charset than UTF-8
 */
export function detectContentMode(contentType: string | undefined, hasEventHeaders: boolean): ContentMode {
  const other = hasEventHeaders ? 'binary' : 'plain';
  if (contentType === undefined) return other;
  const mediaType = parseMediaType(contentType);
  if (!mediaType) throw unsupportedMediaType('Content-Type is no media type.');
  if (isJson(mediaType) && !isUtf8(mediaType)) throw unsupportedMediaType('JSON is taken in UTF-8 only.');
  const { type, subtype } = mediaType;
  if (type !== 'application' || !subtype.startsWith(EVENT_FORMAT)) return other;
  if (subtype === 'cloudevents+json') return 'structured';
  if (subtype === 'cloudevents-batch+json') return 'batch';
  throw unsupportedMediaType('Of the event formats only JSON is taken: application/cloudevents+json or -batch+json.');
}

function unsupportedMediaType(why: string): MayflyError {
  return new MayflyError('unsupported_media_type', why);
}
