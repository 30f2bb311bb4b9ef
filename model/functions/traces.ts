import type { ErrorCode } from '../errors.ts';
import { idBytes, snapshotIdFrom } from '../ids.ts';
import type { RunOutcome, RunState } from './run-state.ts';

/** What a failed run leaves, unless its function says that nothing is kept. */
export const ON_FAILURE = ['none', 'disk'] as const;

/** Snapshots that are tried for one after another. */
export const KEEP_TRIES = 3;
const DAY_MS = 86_400_000;

/** Of them something may be learned from the sandbox; of `unknown` only where that still runs. */
const KEPT_OUTCOMES: readonly RunOutcome[] = ['failed', 'timed-out', 'unknown'];

/** Why another try would come to nothing else. */
const FOR_EVER: ReadonlySet<ErrorCode> = new Set([
  'host_disk_full',
  'quota_exceeded',
  'sandbox_ended',
  'sandbox_not_running',
  'snapshot_unsupported',
] as const);

/** Whether the sandbox of a run's last attempt is to be kept: nothing comes after it, and its process has failed. */
export function isToBeKept(run: { state: RunState; outcome: RunOutcome | null; startedAt: string | null }): boolean {
  const { state, outcome, startedAt } = run;
  return state === 'ended' && startedAt !== null && outcome !== null && KEPT_OUTCOMES.includes(outcome);
}

/** Made before the snapshot is: whoever goes on finds what there is. @param nth of {@link KEEP_TRIES}, from 1 */
export function keptSnapshotId(sandboxId: string, nth: number): string {
  return snapshotIdFrom(idBytes(`${sandboxId}/kept/${nth}`));
}

/** @param endedAt of the attempt, so that it is the same whoever asks. ISO 8601 */
export function keptUntil(endedAt: string, days: number): string {
  return new Date(Date.parse(endedAt) + days * DAY_MS).toISOString();
}

export function isForEver(code: ErrorCode): boolean {
  return FOR_EVER.has(code);
}

/** The two states that are compared: when its process was about to be started, and when it had ended. */
export const DIFF_SIDES = ['before', 'after'] as const;
export type DiffSide = (typeof DIFF_SIDES)[number];

/** Made before the snapshot is: whoever goes on finds what there is. */
export function diffSnapshotId(sandboxId: string, side: DiffSide): string {
  return snapshotIdFrom(idBytes(`${sandboxId}/diff/${side}`));
}
