import type { HmacScheme } from '../../../model/webhooks/signature-scheme.ts';
import { decode, firstMatch, hmacOf, isEqual } from './digest.ts';
import {
  type Delivery,
  type Header,
  headersNamed,
  isDeliveryId,
  onlyHeader,
  readTimestamp,
  type SignedRequest,
  secondsOf,
  unverified,
  type Verdict,
  verdictOf,
} from './verdict.ts';

/** GitHub's scheme ("Validating webhook deliveries" of its documentation), without a timestamp. */
const GITHUB: HmacScheme = {
  scheme: 'hmac',
  header: 'x-hub-signature-256',
  prefix: 'sha256=',
  encoding: 'hex',
  algorithm: 'sha256',
};
/** Header of the delivery's id, which is not signed. */
const GITHUB_DELIVERY = 'x-github-delivery';

/** Verifies the HMAC of a body, or of `<timestamp>.<body>`, in a header. @param secrets null for an unusable one */
export function verifyHmac(
  scheme: HmacScheme,
  secrets: readonly (string | null)[],
  request: SignedRequest,
  deliveryId: string | null = null,
): Verdict {
  const values = headersNamed(request, scheme.header);
  if (values.length === 0) return unverified('the signature is missing, or too long');
  let timestamp: number | null = null;
  if (scheme.timestampHeader !== undefined) {
    const read = readTimestamp(onlyHeader(request, scheme.timestampHeader), request.now);
    if ('why' in read) return unverified(read.why);
    timestamp = read.seconds;
  }
  const signatures = values.flatMap((value) => readSignature(scheme, value) ?? []);
  const digests = secrets.map((secret) => (secret === null ? null : digestOf(scheme, secret, timestamp, request.body)));
  return verdictOf(firstMatch(signatures, digests, isEqual), deliveryId, timestamp);
}

export function verifyGithub(secrets: readonly (string | null)[], request: SignedRequest): Verdict {
  const id = onlyHeader(request, GITHUB_DELIVERY);
  return verifyHmac(GITHUB, secrets, request, id !== null && isDeliveryId(id) ? id : null);
}

export function signHmac(scheme: HmacScheme, secret: string, { body, now }: Delivery): Header[] {
  const timestamp = scheme.timestampHeader === undefined ? null : secondsOf(now);
  const signature = digestOf(scheme, secret, timestamp, body).toString(scheme.encoding);
  const signed: Header = [scheme.header.toLowerCase(), scheme.prefix + signature];
  return scheme.timestampHeader === undefined
    ? [signed]
    : [[scheme.timestampHeader.toLowerCase(), String(timestamp)], signed];
}

export function signGithub(secret: string, delivery: Delivery): Header[] {
  return [[GITHUB_DELIVERY, delivery.id], ...signHmac(GITHUB, secret, delivery)];
}

function readSignature({ prefix, encoding }: HmacScheme, value: string): Buffer | null {
  return value.startsWith(prefix) ? decode(value.slice(prefix.length), encoding) : null;
}

function digestOf({ algorithm }: HmacScheme, secret: string, timestamp: number | null, body: Uint8Array): Buffer {
  return hmacOf(algorithm, secret, timestamp === null ? '' : `${timestamp}.`, body);
}
