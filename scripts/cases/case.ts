/** One case of behaviour as data, as /cases' README describes the files. */
export interface Case {
  id: string;
  input: unknown;
  expected: unknown;
  name?: string;
  function?: string;
  strength?: string;
  reason?: string;
}

/** What a case came to: null when it holds, otherwise what was expected and what came. */
export type Problem = { expected: string; came: string } | null;

/** Runs the cases of one group against the product's own functions. */
export type Group = (one: Case) => Problem | Promise<Problem>;

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The string under `key` of a case's input. @throws TypeError when the file has something else there. */
export function stringField(input: unknown, key: string): string {
  const value = isRecord(input) ? input[key] : undefined;
  if (typeof value !== 'string') throw new TypeError(`input.${key} is not a string`);
  return value;
}
