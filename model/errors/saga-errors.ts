import { errorTable } from './entry.ts';

/** Errors of steps, the store and Temporal. */
export const SAGA_ERRORS = errorTable({
  step_timeout: {
    status: 504,
    retryable: true,
    title: 'A step took too long',
    remedy: 'See `failure.step`; nothing was left behind.',
  },
  workflow_cancelled: {
    status: 409,
    title: 'Its workflow was cancelled in Temporal',
    remedy: 'Ask again if you still want it; nothing was left behind.',
  },
  stale_attempt: {
    status: 409,
    title: 'A newer step has overtaken this one',
    remedy: 'Nothing to do: the newer step decides.',
  },
  fault_injected: { status: 500, title: 'A failpoint fired', remedy: 'Unset MAYFLY_FAILPOINTS.' },
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
  payload_key_unusable: {
    status: 500,
    title: 'What Temporal and the store keep cannot be encrypted or read with the keys of this process',
    remedy:
      'Give each process of the installation the same payload.key, readable by its user alone: it is beside the CA key of the control worker, and MAYFLY_PAYLOAD_KEY_FILE names it elsewhere.',
  },
  invalid_setting: {
    status: 422,
    title: 'A setting of this process is not valid',
    remedy: 'Set the environment variable that is named to a value that docs/settings.md allows, or unset it.',
  },
  record_damaged: {
    status: 500,
    title: 'Something in the store is not as Mayfly wrote it',
    remedy:
      'Somebody wrote to the store past Mayfly, or its disk is faulty: put the document back from a backup, or remove it.',
  },
  internal: { status: 500, title: 'That is our fault', remedy: 'Report it with the requestId.' },
});
