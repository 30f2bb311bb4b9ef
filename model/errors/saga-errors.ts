import type { ErrorEntries } from './entry.ts';

/** Of steps, the store, Temporal. */
export const SAGA_ERRORS = {
  step_timeout: {
    status: 504,
    retryable: true,
    title: 'A step took too long',
    remedy: 'See `failure.step`; nothing was left behind.',
  },
  stale_attempt: {
    status: 409,
    retryable: false,
    title: 'A newer step has overtaken this one',
    remedy: 'Nothing to do: the newer step decides.',
  },
  fault_injected: { status: 500, retryable: false, title: 'A failpoint fired', remedy: 'Unset MAYFLY_FAILPOINTS.' },
  store_unavailable: {
    status: 503,
    retryable: true,
    title: 'The store does not answer',
    remedy: 'Check MONGODB_URI and the server behind it.',
  },
  temporal_unavailable: {
    status: 503,
    retryable: true,
    title: 'Temporal does not answer',
    remedy: 'Check TEMPORAL_ADDRESS and the server behind it.',
  },
  internal: { status: 500, retryable: false, title: 'That is our fault', remedy: 'Report it with the requestId.' },
} as const satisfies ErrorEntries;
