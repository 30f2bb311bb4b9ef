/** A well-formed installation id for records that no machine has made. */
export const INSTALLATION = 'ins-000000000000000000000000';
