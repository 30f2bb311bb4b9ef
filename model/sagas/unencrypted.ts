/** Placeholder for a payload that reached a workflow unencrypted; the workflow drops or refuses it. */
export const UNENCRYPTED = 'mayfly: a payload that is not encrypted';
