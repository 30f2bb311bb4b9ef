/** Returns the workflow's time, ISO 8601. */
export function now(): string {
  return new Date(Date.now()).toISOString();
}
