import type { ErrorEntries } from './entry.ts';

/** Of captures of running sources. */
export const CAPTURE_ERRORS = {
  capture_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such capture',
    remedy: 'List them with GET /v1/sources/{name}/captures.',
  },
  capture_not_ready: {
    status: 409,
    retryable: false,
    title: 'The capture cannot be used',
    remedy: 'Its `state` says why: only one that is `ready` can be cloned.',
  },
  capture_in_use: {
    status: 409,
    retryable: false,
    title: 'Something refers to the capture',
    remedy: 'Remove what `detail` names first.',
  },
  capture_failed: {
    status: 502,
    retryable: true,
    title: 'The source could not be captured',
    remedy: 'See `detail`; what was copied has been removed, and the source goes on.',
  },
} as const satisfies ErrorEntries;
