import type { GuestName } from './file-change.ts';

/**
 * `same`; `text`, with the difference; `binary`: has a NUL, or is not UTF-8, on at least one side; `too-large`: longer
 * than what is read of either side.
 */
export const COMPARISON_KINDS = ['same', 'text', 'binary', 'too-large'] as const;
type ComparisonKind = (typeof COMPARISON_KINDS)[number];

/** One regular file in two states of a file system. */
export interface FileComparison {
  path: GuestName;
  /** Null where there is no such file. Bytes. */
  before: { size: number } | null;
  after: { size: number } | null;
  kind: ComparisonKind;
  /** Of `text`: in the unified format, which patch(1) and `git apply` take; else null. */
  diff: string | null;
}
