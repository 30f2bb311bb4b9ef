import { MayflyError } from '../../model/errors.ts';
import { EVENT_HEADER } from '../../model/events/binary-mode.ts';
import { detectContentMode } from '../../model/events/content-mode.ts';
import { readJson } from '../../model/events/json/json-text.ts';
import { resolvePointer } from '../../model/events/json-pointer.ts';
import { getContentType, readEvent } from '../../model/events/read-event.ts';
import type { HookRecord } from '../../model/webhooks/hook.ts';
import { sha256 } from '../intake/accept-event.ts';
import { eventDedupeKey, type ReceivedRequest } from '../runs/received.ts';
import { onlyHeader, type SignedRequest, type Verdict } from '../webhooks/signing/verdict.ts';
import { githubEvent } from './github-event.ts';

type Verified = Extract<Verdict, { verified: true }>;

const PLAIN_TYPE = 'mayfly.hook.received';
/** Name of a GitHub event, such as `projects_v2_item`. */
const GITHUB_NAME = /^[a-z0-9_]{1,100}$/;
/** Id of a Stripe event. */
const STRIPE_ID = /^[\x21-\x7e]{1,256}$/;

/**
 * Returns the event of a verified request; null for a `ping` of GitHub. Source and id identify an event: a CloudEvent
 * has its own; other requests have those of the hook and the delivery.
 * @throws MayflyError signature_invalid when it lacks a header of its scheme; invalid_event, invalid_json,
 *   unsupported_media_type
 */
export function hookEvent(
  { id: hookId, scheme: { scheme } }: Pick<HookRecord, 'id' | 'scheme'>,
  request: SignedRequest,
  verdict: Verified,
): ReceivedRequest | null {
  const ownUri = `/hooks/${hookId}`;
  const { headers, body } = request;
  if (scheme === 'github') {
    const name = onlyHeader(request, 'x-github-event');
    const { deliveryId } = verdict;
    if (deliveryId === null || name === null || !GITHUB_NAME.test(name)) throw signatureInvalid();
    if (name === 'ping') return null;
    assertUnencoded(request);
    return toReceived(githubEvent({ name, id: deliveryId, contentType: getContentType(headers), body }, ownUri), body);
  }
  assertUnencoded(request);
  const isPlain = modeOf(headers) === 'plain';
  const id = isPlain ? deliveryIdOf(scheme, body, verdict) : hookId;
  const defaults = { id, source: ownUri, type: PLAIN_TYPE, time: new Date(request.now).toISOString() };
  const base = toReceived(readEvent({ headers, body }, defaults), body);
  const isSenders = isPlain && id !== contentIdOf(body, verdict) && OWN_ID.has(scheme);
  return isSenders ? { ...base, sameness: { ...base.sameness, isSenders } } : base;
}

/** Schemes whose sender signs an id of its own with the body: a retry may differ in the rest. */
const OWN_ID: ReadonlySet<HookRecord['scheme']['scheme']> = new Set(['stripe', 'standard-webhooks']);

/** Returns one error for all that is missing or wrong, which reveals no cause. */
export function signatureInvalid(): MayflyError {
  return new MayflyError(
    'signature_invalid',
    'Its signature, a header of it, or its time is missing or does not hold.',
  );
}

function toReceived(event: ReceivedRequest['event'], body: Uint8Array): ReceivedRequest {
  return { event, sameness: eventDedupeKey(event), digest: sha256(body) };
}

/** Returns the id of a delivery, or else the hash of its bytes, with their time where that is signed. */
function deliveryIdOf(
  scheme: HookRecord['scheme']['scheme'],
  body: Uint8Array,
  { deliveryId, timestamp }: Verified,
): string {
  if (deliveryId !== null) return deliveryId;
  const id = scheme === 'stripe' ? resolvePointer(readJson(body).value, '/id') : null;
  if (typeof id === 'string' && STRIPE_ID.test(id)) return id;
  return contentIdOf(body, { timestamp });
}

function contentIdOf(body: Uint8Array, { timestamp }: Pick<Verified, 'timestamp'>): string {
  return sha256(timestamp === null ? body : Buffer.concat([Buffer.from(`${timestamp}.`), body]));
}

/** Refuses encoded bodies: the signature covers the bytes as sent, not the decoded ones. */
function assertUnencoded(request: SignedRequest): void {
  const encodings = request.headers.filter(([name]) => name === 'content-encoding');
  if (encodings.every(([, value]) => value.trim().toLowerCase() === 'identity')) return;
  throw new MayflyError('unsupported_media_type', 'A body is taken as it is, and with no Content-Encoding.');
}

function modeOf(headers: SignedRequest['headers']) {
  const hasOwn = headers.some(([name]) => name.startsWith(EVENT_HEADER));
  return detectContentMode(getContentType(headers), hasOwn);
}
