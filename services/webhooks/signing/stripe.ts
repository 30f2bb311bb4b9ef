import { decode, firstMatch, hmacOf, isEqual } from './digest.ts';
import {
  type Delivery,
  type Header,
  headersNamed,
  MAX_PASSES,
  MAX_SIGNATURES,
  readTimestamp,
  type SignedRequest,
  secondsOf,
  unverified,
  type Verdict,
  verdictOf,
} from './verdict.ts';

const HEADER = 'stripe-signature';

/**
 * Verifies `t=<seconds>,v1=<hex>,v1=<hex>` ("Verify webhook signatures manually" of Stripe's documentation):
 * HMAC-SHA256 of `<t>.<body>` with the whole text of the secret, `whsec_` included. Only the body has the delivery's
 * id.
 * @param secrets null for an unusable one
 */
export function verifyStripe(secrets: readonly (string | null)[], request: SignedRequest): Verdict {
  let verdict = unverified('the signature is missing, or too long');
  for (const value of headersNamed(request, HEADER).slice(0, MAX_PASSES)) {
    verdict = verifyHeader(value, secrets, request);
    if (verdict.verified) return verdict;
  }
  return verdict;
}

/** Signs with each of the secrets. */
export function signStripe(secrets: readonly string[], { body, now }: Delivery): Header[] {
  const timestamp = secondsOf(now);
  const signatures = secrets.map((secret) => `v1=${digestOf(secret, timestamp, body).toString('hex')}`);
  return [[HEADER, [`t=${timestamp}`, ...signatures].join()]];
}

function verifyHeader(value: string, secrets: readonly (string | null)[], { body, now }: SignedRequest): Verdict {
  const items = value.split(',');
  const [time, ...moreTimes] = behind('t=', items);
  const timestamp = readTimestamp(moreTimes.length === 0 ? (time ?? null) : null, now);
  if ('why' in timestamp) return unverified(timestamp.why);
  const signatures = behind('v1=', items)
    .slice(0, MAX_SIGNATURES)
    .flatMap((text) => decode(text, 'hex') ?? []);
  const digests = secrets.map((secret) => (secret === null ? null : digestOf(secret, timestamp.seconds, body)));
  return verdictOf(firstMatch(signatures, digests, isEqual), null, timestamp.seconds);
}

function behind(prefix: string, items: readonly string[]): string[] {
  return items.filter((item) => item.startsWith(prefix)).map((item) => item.slice(prefix.length));
}

function digestOf(secret: string, timestamp: number, body: Uint8Array): Buffer {
  return hmacOf('sha256', secret, `${timestamp}.`, body);
}
