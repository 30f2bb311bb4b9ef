import type { ErrorEntries } from './entry.ts';

/** Of templates and of warm pools. */
export const TEMPLATE_ERRORS = {
  template_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such template',
    remedy: 'List them with GET /v1/templates.',
  },
  template_unavailable: {
    status: 409,
    retryable: true,
    title: 'No template is ready for such a sandbox',
    remedy:
      'Make one (POST /v1/templates) and wait until it is `ready`, or ask with `boot: auto`, which boots cold instead.',
  },
  template_failed: {
    status: 500,
    retryable: true,
    title: 'A template could not be made',
    remedy: 'See `reason` of the template; it is tried again at `retryAt`. Sandboxes boot cold meanwhile.',
  },
  template_unsupported: {
    status: 422,
    retryable: false,
    title: 'No templates are made of that',
    remedy: 'Sandboxes of it boot cold; `detail` says which host was asked.',
  },
  pool_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such pool',
    remedy: 'List them with GET /v1/pools.',
  },
} as const satisfies ErrorEntries;
