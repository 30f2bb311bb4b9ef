import { randomBytes } from 'node:crypto';
import type { ApiKey } from '../../model/access/api-key.ts';
import { EVENT_HEADER } from '../../model/events/binary-mode.ts';
import type { ReceivedEvent } from '../../model/events/cloud-event.ts';
import { type ContentMode, contentModeOf } from '../../model/events/content-mode.ts';
import { contentTypeOf, readEvent } from '../../model/events/read-event.ts';
import { type Sameness, sha256 } from '../intake/accept-event.ts';

/** What a request has brought. */
export interface Received {
  event: ReceivedEvent;
  sameness: Sameness;
  /** SHA-256 of what was sent, hex. */
  digest: string;
}

interface Sent {
  headers: [string, string][];
  body: Uint8Array;
  /** The Idempotency-Key. */
  key: string | undefined;
}

/**
 * Returns the event of a request. One that is sent as a CloudEvent is the same as another by its source and id; what is sent without
 * is the same as another by the Idempotency-Key, of the same API key.
 * @throws MayflyError invalid_event, invalid_json, unsupported_media_type
 */
export function receivedEvent(
  { headers, body, key }: Sent,
  { id: apiKeyId, project }: Pick<ApiKey, 'id' | 'project'>,
  name: string,
): Received {
  const event = readEvent(
    { headers, body },
    {
      id: key ?? randomBytes(16).toString('hex'),
      source: `/projects/${project}/functions/${name}`,
      type: 'mayfly.function.invoked',
      time: new Date().toISOString(),
    },
  );
  if (modeOf(headers) !== 'plain') return { event, sameness: sameEvent(event), digest: sha256(event.json) };
  const digest = sha256(Buffer.concat([Buffer.from(`${contentTypeOf(headers) ?? ''}\n`), body]));
  const text = key === undefined ? null : JSON.stringify([apiKeyId, key]);
  return { event, sameness: { by: 'key', text }, digest };
}

/** By its source and id, as CloudEvents has it. */
export function sameEvent({ attributes: { source, id } }: ReceivedEvent): Sameness {
  return { by: 'event', text: JSON.stringify([source, id]) };
}

function modeOf(headers: readonly (readonly [string, string])[]): ContentMode {
  return contentModeOf(
    contentTypeOf(headers),
    headers.some(([name]) => name.startsWith(EVENT_HEADER)),
  );
}
