import { randomBytes } from 'node:crypto';
import type { ApiKey } from '../../model/access/api-key.ts';
import { EVENT_HEADER } from '../../model/events/binary-mode.ts';
import type { ReceivedEvent } from '../../model/events/cloud-event.ts';
import { type ContentMode, detectContentMode } from '../../model/events/content-mode.ts';
import { getContentType, readEvent } from '../../model/events/read-event.ts';
import { type DedupeKey, sha256 } from '../intake/accept-event.ts';

/** Event of a request, with its dedupe key. */
export interface ReceivedRequest {
  event: ReceivedEvent;
  sameness: DedupeKey;
  /** SHA-256 of the sent bytes, hex. */
  digest: string;
}

interface Sent {
  headers: [string, string][];
  body: Uint8Array;
  /** Idempotency-Key. */
  key: string | undefined;
}

/**
 * Returns the event of a request. A CloudEvent is deduplicated by its source and id; another body by the
 * Idempotency-Key of its API key.
 * @throws MayflyError invalid_event, invalid_json, unsupported_media_type
 */
export function receivedEvent(
  { headers, body, key }: Sent,
  { id: apiKeyId, project }: Pick<ApiKey, 'id' | 'project'>,
  name: string,
): ReceivedRequest {
  const event = readEvent(
    { headers, body },
    {
      id: key ?? randomBytes(16).toString('hex'),
      source: `/projects/${project}/functions/${name}`,
      type: 'mayfly.function.invoked',
      time: new Date().toISOString(),
    },
  );
  if (modeOf(headers) !== 'plain') return { event, sameness: eventDedupeKey(event), digest: sha256(event.json) };
  const digest = sha256(Buffer.concat([Buffer.from(`${getContentType(headers) ?? ''}\n`), body]));
  const text = key === undefined ? null : JSON.stringify([apiKeyId, key]);
  return { event, sameness: { by: 'key', text }, digest };
}

/** Returns the dedupe key of a CloudEvent: its source and id. */
export function eventDedupeKey({ attributes: { source, id } }: ReceivedEvent): DedupeKey {
  return { by: 'event', text: JSON.stringify([source, id]) };
}

function modeOf(headers: readonly (readonly [string, string])[]): ContentMode {
  return detectContentMode(
    getContentType(headers),
    headers.some(([name]) => name.startsWith(EVENT_HEADER)),
  );
}
