import type { ErrorCode } from '../errors.ts';
import { deriveIdBytes, snapshotIdFrom } from '../ids.ts';
import type { RunOutcome, RunState } from './run-state.ts';

/** Retention options for a failed run. */
export const ON_FAILURE = ['none', 'disk'] as const;

/** Snapshot tries before retention is given up. */
export const RETENTION_TRIES = 3;
const DAY_MS = 86_400_000;

/** Outcomes whose sandbox is worth retaining; `unknown` only while the sandbox still runs. */
const RETAINED_OUTCOMES: readonly RunOutcome[] = ['failed', 'timed-out', 'unknown'];

/** Permanent errors of a snapshot. */
const PERMANENT_ERRORS: ReadonlySet<ErrorCode> = new Set([
  'host_disk_full',
  'quota_exceeded',
  'sandbox_ended',
  'sandbox_not_running',
  'snapshot_unsupported',
] as const);

/** True when the disks of a run's last sandbox are to be retained: no attempt follows, and its process failed. */
export function shouldRetain(run: { state: RunState; outcome: RunOutcome | null; startedAt: string | null }): boolean {
  const { state, outcome, startedAt } = run;
  return state === 'ended' && startedAt !== null && outcome !== null && RETAINED_OUTCOMES.includes(outcome);
}

/**
 * Derives the id before the snapshot exists, so that a retry finds it.
 * @param nth of {@link RETENTION_TRIES}, from 1
 */
export function deriveRetainedSnapshotId(sandboxId: string, nth: number): string {
  return snapshotIdFrom(deriveIdBytes(`${sandboxId}/kept/${nth}`));
}

/** @param endedAt end of the attempt, for a deterministic result. ISO 8601 */
export function getRetentionEnd(endedAt: string, days: number): string {
  return new Date(Date.parse(endedAt) + days * DAY_MS).toISOString();
}

export function isPermanent(code: ErrorCode): boolean {
  return PERMANENT_ERRORS.has(code);
}

/** States to compare: right before the start and after the end of the process. */
export const DIFF_STATES = ['before', 'after'] as const;
export type DiffSide = (typeof DIFF_STATES)[number];

/** Derives the id before the snapshot exists, so that a retry finds it. */
export function deriveDiffSnapshotId(sandboxId: string, side: DiffSide): string {
  return snapshotIdFrom(deriveIdBytes(`${sandboxId}/diff/${side}`));
}
