import { MayflyError } from '../errors.ts';
import { isJson, isUtf8, parseMediaType } from './media-type.ts';

/** How a request carries events (HTTP protocol binding §1.3); `plain`: it carries none, and its body is the data of one. */
export type ContentMode = 'structured' | 'binary' | 'batch' | 'plain';

/** What all media types of event formats begin with. */
const EVENT_FORMAT = 'cloudevents';

/**
 * @param contentType the value of Content-Type; undefined: there is none
 * @param hasEventHeaders some header begins with `ce-`
 * @throws MayflyError unsupported_media_type: no media type, another event format than JSON, or JSON in another charset than UTF-8
 */
export function contentModeOf(contentType: string | undefined, hasEventHeaders: boolean): ContentMode {
  const other = hasEventHeaders ? 'binary' : 'plain';
  if (contentType === undefined) return other;
  const mediaType = parseMediaType(contentType);
  if (!mediaType) throw unsupported('Content-Type is no media type.');
  if (isJson(mediaType) && !isUtf8(mediaType)) throw unsupported('JSON is taken in UTF-8 only.');
  const { type, subtype } = mediaType;
  if (type !== 'application' || !subtype.startsWith(EVENT_FORMAT)) return other;
  if (subtype === 'cloudevents+json') return 'structured';
  if (subtype === 'cloudevents-batch+json') return 'batch';
  throw unsupported('Of the event formats only JSON is taken: application/cloudevents+json or -batch+json.');
}

function unsupported(why: string): MayflyError {
  return new MayflyError('unsupported_media_type', why);
}
