/** Entry of the error table (model/errors.ts). */
export interface ErrorEntry {
  /** HTTP status of the answer. */
  status: number;
  /** True when the same request can succeed later without a change. */
  retryable: boolean;
  title: string;
  /** Advice to the caller. */
  remedy: string;
}

type Given = Omit<ErrorEntry, 'retryable'> & Partial<ErrorEntry>;

/** Fills in `retryable: false` where it is absent. */
export function errorTable<Code extends string>(entries: Record<Code, Given>): Record<Code, ErrorEntry> {
  const filled = Object.entries<Given>(entries).map(([code, entry]) => [code, { retryable: false, ...entry }]);
  return Object.fromEntries(filled);
}

/** @param list request or command that lists the noun's instances */
export function notFound(noun: string, list: string): Given {
  return { status: 404, title: `There is no such ${noun}`, remedy: `List them with ${list}.` };
}

export function limitReached(owner: string, nouns: string): Given {
  const title = `The ${owner} has as many ${nouns} as it may have`;
  return { status: 409, title, remedy: 'Delete some that are not needed.' };
}
