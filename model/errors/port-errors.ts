import type { ErrorEntries } from './entry.ts';

/** Of ports of a guest. */
export const PORT_ERRORS = {
  port_closed: {
    status: 502,
    retryable: true,
    title: 'Nothing answers at that port of the sandbox',
    remedy:
      'Start what is to listen there, on 127.0.0.1, ::1 or all addresses; `ss -ltn` in the sandbox shows who listens.',
  },
  port_refused: {
    status: 422,
    retryable: false,
    title: 'That port is not passed on',
    remedy: "Take another one: a sandbox's port 22 is Mayfly's own way in; `mayfly ssh` logs in.",
  },
} as const satisfies ErrorEntries;
