/** Valid installation id for records of no real machine. */
export const INSTALLATION = 'ins-000000000000000000000000';
