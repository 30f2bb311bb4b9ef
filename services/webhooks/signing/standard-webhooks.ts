import { sign, verify } from 'node:crypto';
import { decode, firstMatch, hmacOf, isEqual } from './digest.ts';
import { type StandardKey, standardKey } from './standard-key.ts';
import {
  type Delivery,
  type Header,
  headersNamed,
  isDeliveryId,
  MAX_PASSES,
  MAX_SIGNATURES,
  onlyHeader,
  readTimestamp,
  type SignedRequest,
  secondsOf,
  unverified,
  type Verdict,
  verdictOf,
} from './verdict.ts';

/** Version of a signature: v1 is HMAC-SHA256, v1a Ed25519. */
type Version = StandardKey['version'];
const SIGNATURE_BYTES: Readonly<Record<Version, number>> = { v1: 32, v1a: 64 };

/** Header prefixes of the specification, and of Svix, its origin. */
const PREFIXES = ['webhook-', 'svix-'] as const;

interface Signature {
  version: Version;
  bytes: Buffer;
}

/** Checks a signature; false for another version than the key's, so neither can pass for the other. */
type Check = (signature: Signature) => boolean;

/** Verifies Standard Webhooks 1.0.0, v1 and v1a. @param secrets null for an unusable one */
export function verifyStandardWebhook(secrets: readonly (string | null)[], request: SignedRequest): Verdict {
  const prefix = PREFIXES.find((one) => headersNamed(request, `${one}signature`).length > 0);
  if (prefix === undefined) return unverified('the signature is missing, or too long');
  const id = onlyHeader(request, `${prefix}id`);
  if (id === null || !isDeliveryId(id)) return unverified('the id is missing, there are two, or it is none');
  const timestamp = readTimestamp(onlyHeader(request, `${prefix}timestamp`), request.now);
  if ('why' in timestamp) return unverified(timestamp.why);
  const signatures = signaturesIn(headersNamed(request, `${prefix}signature`));
  const before = signedBefore(id, timestamp.seconds);
  const checks = secrets.map((secret) => (secret === null ? null : checkOf(standardKey(secret), before, request.body)));
  const secretIndex = firstMatch(signatures, checks, (signature, check: Check) => check(signature));
  return verdictOf(secretIndex, id, timestamp.seconds);
}

/**
 * Signs with each of the secrets: v1 for `whsec_`, v1a for `whsk_`.
 * @throws RangeError for an invalid id
 * @throws TypeError for an invalid secret, or a public key
 */
export function signStandardWebhook(secrets: readonly string[], { id, body, now }: Delivery): Header[] {
  if (!isDeliveryId(id)) throw new RangeError(`not an id of a delivery: ${JSON.stringify(id)}`);
  const timestamp = secondsOf(now);
  const before = signedBefore(id, timestamp);
  return [
    ['webhook-id', id],
    ['webhook-timestamp', String(timestamp)],
    ['webhook-signature', secrets.map((secret) => signatureOf(standardKey(secret), before, body)).join(' ')],
  ];
}

/**
 * Returns the signatures of known versions and correct length, in order; of v1a, each of which reads the body, the
 * first few.
 */
function signaturesIn(values: readonly string[]): Signature[] {
  const signatures = values
    .flatMap((value) => value.split(' '))
    .flatMap((text) => readSignature(text) ?? [])
    .slice(0, MAX_SIGNATURES);
  const passes = signatures.filter(({ version }) => version === 'v1a').slice(0, MAX_PASSES);
  return signatures.filter((signature) => signature.version === 'v1' || passes.includes(signature));
}

function readSignature(text: string): Signature | null {
  const comma = text.indexOf(',');
  const version = text.slice(0, comma);
  if (version !== 'v1' && version !== 'v1a') return null;
  const bytes = decode(text.slice(comma + 1), 'base64');
  return bytes?.length === SIGNATURE_BYTES[version] ? { version, bytes } : null;
}

function checkOf(key: StandardKey, before: string, body: Uint8Array): Check {
  if (key.version === 'v1') {
    const expected = hmacOf('sha256', key.secret, before, body);
    return ({ version, bytes }) => version === 'v1' && isEqual(bytes, expected);
  }
  const signed = Buffer.concat([Buffer.from(before), body]);
  return ({ version, bytes }) => version === 'v1a' && verify(null, signed, key.publicKey, bytes);
}

function signatureOf(key: StandardKey, before: string, body: Uint8Array): string {
  if (key.version === 'v1') return `v1,${hmacOf('sha256', key.secret, before, body).toString('base64')}`;
  if (key.privateKey === null) throw new TypeError('A public key signs nothing.');
  return `v1a,${sign(null, Buffer.concat([Buffer.from(before), body]), key.privateKey).toString('base64')}`;
}

function signedBefore(id: string, timestamp: number): string {
  return `${id}.${timestamp}.`;
}
