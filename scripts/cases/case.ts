/** Test case as data; /cases' README describes the files. */
export interface Case {
  id: string;
  input: unknown;
  expected: unknown;
  name?: string;
  function?: string;
  strength?: string;
  reason?: string;
}

/** Failure of a case: the expected and the actual result; null when it passes. */
export type Problem = { expected: string; came: string } | null;

/** Runs the cases of one group against the product's own functions. */
export type Group = (one: Case) => Problem | Promise<Problem>;

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the string under `key` of a case's input. @throws TypeError when it is not a string */
export function stringField(input: unknown, key: string): string {
  const value = isRecord(input) ? input[key] : undefined;
  if (typeof value !== 'string') throw new TypeError(`input.${key} is not a string`);
  return value;
}
