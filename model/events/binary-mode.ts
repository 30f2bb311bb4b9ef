import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { readAttributes } from './attributes.ts';
import { type EventAttributes, type EventProblem, invalidEvent, type ReceivedEvent } from './cloud-event.ts';
import { decodeHeaderValue } from './header-value.ts';
import { readJson, utf8Text, withoutByteOrderMark } from './json/json-text.ts';
import { isJson, isUtf8, parseMediaType } from './media-type.ts';

/** Prefix of the headers that carry attributes. */
export const EVENT_HEADER = 'ce-';

/**
 * Reads the attributes from headers (HTTP protocol binding §3.1); values of extensions are strings.
 * @param headers starting with `ce-`, names in lower case
 * @throws MayflyError invalid_event
 */
export function readHeaderAttributes(
  headers: readonly (readonly [string, string])[],
  contentType: string | undefined,
): EventAttributes {
  const given = headers.map(
    ([header, value]) => [header.slice(EVENT_HEADER.length), decodeHeaderValue(value)] as const,
  );
  const problems = given.flatMap(([name, value], at): EventProblem[] => {
    const field = name;
    if (name === 'datacontenttype') return [{ field, problem: 'is no header: Content-Type says it' }];
    if (given.findIndex(([other]) => other === name) < at) return [{ field, problem: 'is there twice' }];
    return value === undefined ? [{ field, problem: 'is not ASCII with UTF-8 percent-encoded' }] : [];
  });
  if (problems.length > 0) throw invalidEvent(problems);
  return readAttributes(contentType === undefined ? given : [...given, ['datacontenttype', contentType]]);
}

/**
 * Builds an event with a request body as its data. An empty body means no data.
 * @throws MayflyError invalid_json when the data must be JSON and is not
 */
export function wrapInEvent(attributes: EventAttributes, body: Uint8Array): ReceivedEvent {
  const { member, data } = dataOf(attributes, body);
  const { extensions, ...core } = attributes;
  const open = JSON.stringify({ ...core, ...extensions }).slice(0, -1);
  return { attributes, json: concatParts([open, ...member, '}']), data };
}

/** Serializes the data as a further member of the event in the JSON format (§3.1.1). */
function dataOf(
  { datacontenttype = 'application/json' }: EventAttributes,
  body: Uint8Array,
): { member: (string | Uint8Array)[]; data: unknown } {
  const mediaType = parseMediaType(datacontenttype);
  const isJsonData = mediaType !== undefined && isJson(mediaType);
  if (body.length === 0 || (isJsonData && withoutByteOrderMark(body).length === 0))
    return { member: [], data: undefined };
  if (isJsonData) {
    const { bytes, value } = readJson(body);
    return { member: [',"data":', bytes], data: value };
  }
  const text = mediaType?.type === 'text' && isUtf8(mediaType) ? utf8Text(body) : undefined;
  const member =
    text === undefined
      ? [',"data_base64":"', Buffer.from(body).toString('base64'), '"']
      : [`,"data":${JSON.stringify(text)}`];
  return { member, data: undefined };
}

function concatParts(parts: readonly (string | Uint8Array)[]): Uint8Array {
  return concatBytes(...parts.map((part) => (typeof part === 'string' ? utf8ToBytes(part) : part)));
}
