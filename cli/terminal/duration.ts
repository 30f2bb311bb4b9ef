/** Milliseconds as a person reads them: `12 ms`, `3.4 s`, `2 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Time between two ISO 8601 instants, milliseconds. */
export function between(start: string, end: string): number {
  return Date.parse(end) - Date.parse(start);
}
