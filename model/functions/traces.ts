import type { ErrorCode } from '../errors.ts';
import { idBytes, snapshotIdFrom } from '../ids.ts';
import type { RunOutcome, RunState } from './run-state.ts';

/** Retention options for a failed run. */
export const ON_FAILURE = ['none', 'disk'] as const;

/** Snapshot tries before retention is given up. */
export const KEEP_TRIES = 3;
const DAY_MS = 86_400_000;

/** Outcomes whose sandbox is worth retaining; `unknown` only while the sandbox still runs. */
const KEPT_OUTCOMES: readonly RunOutcome[] = ['failed', 'timed-out', 'unknown'];

/** Permanent errors of a snapshot. */
const FOR_EVER: ReadonlySet<ErrorCode> = new Set([
  'host_disk_full',
  'quota_exceeded',
  'sandbox_ended',
  'sandbox_not_running',
  'snapshot_unsupported',
] as const);

/** True when the disks of a run's last sandbox are to be retained: no attempt follows, and its process failed. */
export function isToBeKept(run: { state: RunState; outcome: RunOutcome | null; startedAt: string | null }): boolean {
  const { state, outcome, startedAt } = run;
  return state === 'ended' && startedAt !== null && outcome !== null && KEPT_OUTCOMES.includes(outcome);
}

/**
 * Derives the id before the snapshot exists, so that a retry finds it.
 * @param nth of {@link KEEP_TRIES}, from 1
 */
export function keptSnapshotId(sandboxId: string, nth: number): string {
  return snapshotIdFrom(idBytes(`${sandboxId}/kept/${nth}`));
}

/** @param endedAt end of the attempt, for a deterministic result. ISO 8601 */
export function keptUntil(endedAt: string, days: number): string {
  return new Date(Date.parse(endedAt) + days * DAY_MS).toISOString();
}

export function isForEver(code: ErrorCode): boolean {
  return FOR_EVER.has(code);
}

/** States to compare: right before the start and after the end of the process. */
export const DIFF_SIDES = ['before', 'after'] as const;
export type DiffSide = (typeof DIFF_SIDES)[number];

/** Derives the id before the snapshot exists, so that a retry finds it. */
export function diffSnapshotId(sandboxId: string, side: DiffSide): string {
  return snapshotIdFrom(idBytes(`${sandboxId}/diff/${side}`));
}
