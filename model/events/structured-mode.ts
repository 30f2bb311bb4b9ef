import { readAttributes } from './attributes.ts';
import { decodeBase64 } from './base64.ts';
import { type EventAttributes, invalidEvent, type ReceivedEvent } from './cloud-event.ts';
import { type JsonText, utf8Text } from './json/json-text.ts';
import { isJson, parseMediaType } from './media-type.ts';

const DATA_MEMBERS = ['data', 'data_base64'];

/**
 * Parses an event in the JSON format (§3). Of duplicate members the last one wins, as in JSON.parse, but `json` keeps
 * the text as sent. An integer written as `5.0` is the same as `5`.
 * @throws MayflyError invalid_event
 */
export function readStructured({ bytes, value }: JsonText): ReceivedEvent {
  if (!isObject(value)) throw invalidEvent([{ field: 'event', problem: 'is no JSON object' }]);
  const { data, data_base64: base64 = null } = value;
  const attributes = readAttributes(Object.entries(value).filter(([name]) => !DATA_MEMBERS.includes(name)));
  if (base64 === null) return { attributes, json: bytes, data: dataOf(attributes, data) };
  if (Object.hasOwn(value, 'data')) throw invalidEvent([{ field: 'data', problem: 'is there beside data_base64' }]);
  return { attributes, json: bytes, data: decodeJsonData(attributes, base64) };
}

function dataOf(attributes: EventAttributes, data: unknown): unknown {
  if (isJsonData(attributes)) return data;
  if (data === undefined || typeof data === 'string') return undefined;
  throw invalidEvent([{ field: 'data', problem: 'is no string, though datacontenttype is not JSON' }]);
}

/** Decodes JSON data; undefined when it is not JSON, since `data_base64` may hold any bytes. */
function decodeJsonData(attributes: EventAttributes, base64: unknown): unknown {
  const bytes = typeof base64 === 'string' ? decodeBase64(base64) : undefined;
  if (!bytes) throw invalidEvent([{ field: 'data_base64', problem: 'is no base64 (RFC 4648)' }]);
  const text = isJsonData(attributes) ? utf8Text(bytes) : undefined;
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isJsonData({ datacontenttype = 'application/json' }: EventAttributes): boolean {
  const mediaType = parseMediaType(datacontenttype);
  return mediaType !== undefined && isJson(mediaType);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
