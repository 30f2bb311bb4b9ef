/** One error of the table (model/errors.ts). */
export interface ErrorEntry {
  /** HTTP status of the answer. */
  status: number;
  /** The same request can succeed later without a change. */
  retryable: boolean;
  title: string;
  /** What the reader can do. */
  remedy: string;
}

type Given = Omit<ErrorEntry, 'retryable'> & Partial<ErrorEntry>;

/** Returns the entries; one that does not say so is not retryable. */
export function errorTable<Code extends string>(entries: Record<Code, Given>): Record<Code, ErrorEntry> {
  const filled = Object.entries<Given>(entries).map(([code, entry]) => [code, { retryable: false, ...entry }]);
  return Object.fromEntries(filled);
}

/** @param list request or command that lists them */
export function notFound(noun: string, list: string): Given {
  return { status: 404, title: `There is no such ${noun}`, remedy: `List them with ${list}.` };
}

export function full(owner: string, nouns: string): Given {
  const title = `The ${owner} has as many ${nouns} as it may have`;
  return { status: 409, title, remedy: 'Delete some that are not needed.' };
}
