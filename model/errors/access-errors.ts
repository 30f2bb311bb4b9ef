import type { ErrorEntries } from './entry.ts';

/** Of who asks. */
export const ACCESS_ERRORS = {
  unauthenticated: {
    status: 401,
    retryable: false,
    title: 'No valid API key',
    remedy: 'Send `Authorization: Bearer <key>`; make one with `mayfly key create`.',
  },
  forbidden: {
    status: 403,
    retryable: false,
    title: 'This key may not do that',
    remedy: 'Use a key with the scope that `detail` names.',
  },
  last_admin_key: {
    status: 409,
    retryable: false,
    title: 'That is the last admin key that lasts',
    remedy:
      'Make another with `mayfly key create`, then revoke this one. The key that `mayfly up` makes for its run does not count.',
  },
  quota_exceeded: {
    status: 409,
    retryable: false,
    title: 'A storage quota would be, or is, exceeded',
    remedy: 'Delete what `detail` names, or have the quota raised with `mayfly key limit`.',
  },
  certificate_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such certificate',
    remedy: 'List them with GET /v1/sandboxes/{id}/credentials.',
  },
  public_key_refused: {
    status: 422,
    retryable: false,
    title: 'That public key cannot be signed',
    remedy: 'Send one line of an Ed25519, ECDSA or RSA (2048 bits or more) public key, without options.',
  },
} as const satisfies ErrorEntries;
