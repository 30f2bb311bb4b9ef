import type { SignatureScheme } from '../../../model/webhooks/signature-scheme.ts';
import { standardKeyProblem } from './standard-key.ts';

const MAX_SECRET_BYTES = 1024;

/** RFC 6750 §2.1, `b64token`. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;
/** RFC 7617 §2: a user without a colon, and no control characters; the password must not be empty. */
const USER_AND_PASSWORD = /^[^:\p{Cc}]*:\P{Cc}+$/u;

/**
 * Returns the defect of a secret, as a predicate of "The secret"; null when the scheme accepts it. Does not quote it.
 * For standard-webhooks, `whsk_` signs and verifies, `whpk_` verifies only.
 */
export function secretProblem({ scheme }: SignatureScheme, secret: string): string | null {
  if (secret === '') return 'is empty';
  if (Buffer.byteLength(secret) > MAX_SECRET_BYTES) return `has more than ${MAX_SECRET_BYTES} bytes`;
  switch (scheme) {
    case 'standard-webhooks':
      return standardKeyProblem(secret);
    case 'bearer':
      return TOKEN.test(secret) ? null : 'is not a token: letters, digits, and any of -._~+/, then any number of =';
    case 'basic':
      return USER_AND_PASSWORD.test(secret) ? null : 'is not user:password without control characters';
    case 'github':
    case 'stripe':
    case 'hmac':
      return null;
  }
}
