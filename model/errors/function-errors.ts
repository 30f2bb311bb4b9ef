import type { ErrorEntries } from './entry.ts';

/** Of functions, and the events they are called with. */
export const FUNCTION_ERRORS = {
  invalid_schema: {
    status: 422,
    retryable: false,
    title: 'That is not a JSON Schema that can be used',
    remedy:
      'Mend what `errors` names. It is draft 2020-12, of at most 64 KiB and 64 levels; every `$ref` is to a place in the schema itself.',
  },
  event_invalid: {
    status: 422,
    retryable: false,
    title: "The event's data does not fit the schema of the function",
    remedy: 'Mend the fields named in `errors`, which are JSON Pointers into `data`.',
  },
  schema_too_slow: {
    status: 422,
    retryable: false,
    title: 'The schema of the function takes too much time or memory',
    remedy:
      'Mend its `pattern`, where one repeats what repeats already, as `^(a+)+$` does; or make the schema smaller. Of one event alone: send less data.',
  },
} as const satisfies ErrorEntries;
