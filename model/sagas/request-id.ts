/** Temporal header with the id of the request on whose behalf something is done. */
export const REQUEST_ID = 'mayfly-request-id';
