/** Stands for a payload that reached a workflow unencrypted; its workflow decides whether to drop or to refuse it. */
export const UNENCRYPTED = 'mayfly: a payload that is not encrypted';
