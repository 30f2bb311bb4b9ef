/** One error of the table (model/errors.ts). */
interface ErrorEntry {
  /** HTTP status of the answer. */
  status: number;
  /** The same request can succeed later without a change. */
  retryable: boolean;
  title: string;
  /** What the reader can do. */
  remedy: string;
}

export type ErrorEntries = Record<string, ErrorEntry>;
