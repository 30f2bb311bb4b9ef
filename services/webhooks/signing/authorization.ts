import { randomBytes } from 'node:crypto';
import { decode, firstMatch, hmacOf, isEqual } from './digest.ts';
import { type Header, headersNamed, type SignedRequest, unverified, type Verdict, verdictOf } from './verdict.ts';

const HEADER = 'authorization';

/** Key of this process for comparing HMACs, which have one length and are equal only for equal texts. */
const COMPARING = randomBytes(32);

/** Verifies `Bearer <secret>` (RFC 6750 §2.1). @param secrets null for an unusable one */
export function verifyBearer(secrets: readonly (string | null)[], request: SignedRequest): Verdict {
  return verify(secrets, request, /^bearer +([^ ]+)$/i, (token) => token);
}

/** Verifies `Basic <base64 of user:password>` in UTF-8 (RFC 7617 §2). @param secrets null for an unusable one */
export function verifyBasic(secrets: readonly (string | null)[], request: SignedRequest): Verdict {
  return verify(secrets, request, /^basic +([^ ]+)$/i, (text) => decode(text, 'base64'));
}

export function signBearer(secret: string): Header[] {
  return [[HEADER, `Bearer ${secret}`]];
}

export function signBasic(secret: string): Header[] {
  return [[HEADER, `Basic ${Buffer.from(secret).toString('base64')}`]];
}

function verify(
  secrets: readonly (string | null)[],
  request: SignedRequest,
  pattern: RegExp,
  read: (credentials: string) => Uint8Array | string | null,
): Verdict {
  const given = headersNamed(request, HEADER).flatMap((value) => {
    const credentials = pattern.exec(value)?.[1];
    return credentials === undefined ? [] : (read(credentials) ?? []);
  });
  if (given.length === 0) return unverified('the authorization is missing, too long, or of another scheme');
  const expected = secrets.map((secret) => (secret === null ? null : fingerprint(secret)));
  return verdictOf(firstMatch(given.map(fingerprint), expected, isEqual), null, null);
}

function fingerprint(text: Uint8Array | string): Buffer {
  return hmacOf('sha256', COMPARING, text);
}
