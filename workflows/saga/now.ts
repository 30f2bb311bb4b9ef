/** The time of the workflow, ISO 8601. */
export function now(): string {
  return new Date(Date.now()).toISOString();
}
