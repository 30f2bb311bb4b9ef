import type { GuestName } from './file-change.ts';

/**
 * `same`; `text` with a diff; `binary`: a NUL or invalid UTF-8 on at least one side; `too-large`: a side exceeds the
 * limit.
 */
export const COMPARISON_KINDS = ['same', 'text', 'binary', 'too-large'] as const;
type ComparisonKind = (typeof COMPARISON_KINDS)[number];

/** Comparison of a regular file in two states of a file system. */
export interface FileComparison {
  path: GuestName;
  /** Bytes; null: no such file. */
  before: { size: number } | null;
  after: { size: number } | null;
  kind: ComparisonKind;
  /** Unified diff for patch(1) and `git apply` when `text`, else null. */
  diff: string | null;
}
