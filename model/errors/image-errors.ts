import type { ErrorEntries } from './entry.ts';

/** Of images that are built of Dockerfiles. */
export const IMAGE_ERRORS = {
  dockerfile_unsupported: {
    status: 422,
    retryable: false,
    title: 'The Dockerfile asks for what is not done',
    remedy: 'Change the line that `errors` names; docs/images.md lists what is done. Nothing of it was run.',
  },
} as const satisfies ErrorEntries;
