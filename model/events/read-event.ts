import { MayflyError } from '../errors.ts';
import { readAttributes } from './attributes.ts';
import { EVENT_HEADER, readHeaderAttributes, wrapInEvent } from './binary-mode.ts';
import type { EventDefaults, ReceivedEvent } from './cloud-event.ts';
import { detectContentMode } from './content-mode.ts';
import { readJson } from './json/json-text.ts';
import { readStructured } from './structured-mode.ts';

/** HTTP request that may carry an event. */
export interface EventRequest {
  /** Names in lower case. */
  headers: Iterable<readonly [string, string]>;
  body: Uint8Array;
}

/**
 * Parses the event of a request, or makes one with the body as its data.
 * @param defaults attributes of a request without any
 * @throws MayflyError invalid_event; invalid_json; unsupported_media_type, also for a batch
 */
export function readEvent({ headers, body }: EventRequest, defaults: EventDefaults): ReceivedEvent {
  const all = [...headers];
  const contentType = getContentType(all);
  const own = all.filter(([name]) => name.startsWith(EVENT_HEADER));
  const mode = detectContentMode(contentType, own.length > 0);
  switch (mode) {
    case 'structured':
      return readStructured(readJson(body));
    case 'binary':
      return wrapInEvent(readHeaderAttributes(own, contentType), body);
    case 'plain': {
      const given = Object.entries({ specversion: '1.0', ...defaults });
      if (contentType !== undefined) given.push(['datacontenttype', contentType]);
      return wrapInEvent(readAttributes(given), body);
    }
    case 'batch':
      throw new MayflyError('unsupported_media_type', 'One event is taken here, and no batch.');
  }
}

/** Undefined: absent. Joins duplicates, which makes no valid media type. */
export function getContentType(headers: Iterable<readonly [string, string]>): string | undefined {
  const values = [...headers].filter(([name]) => name === 'content-type').map(([, value]) => value);
  return values.length === 0 ? undefined : values.join(', ');
}
