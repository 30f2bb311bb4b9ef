/** Temporal header with the id of the original API request. */
export const REQUEST_ID = 'mayfly-request-id';
