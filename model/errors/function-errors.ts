import type { ErrorEntries } from './entry.ts';

/** Of functions and the events that trigger them. */
export const FUNCTION_ERRORS = {
  invalid_event: {
    status: 400,
    retryable: false,
    title: 'The event is no CloudEvent',
    remedy:
      'Mend the attributes named in `errors`; see CloudEvents 1.0.2, its JSON format and its HTTP protocol binding.',
  },
} as const satisfies ErrorEntries;
