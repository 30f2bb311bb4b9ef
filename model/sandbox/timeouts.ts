import type { ErrorCode } from '../errors.ts';

/** Timeouts of workflow steps, ms. Arguments of the workflow, so that tests run in milliseconds. */
export const DEFAULT_TIMEOUTS = {
  /** Time in the queue after which the host of an activity counts as down. */
  hostDownMs: 30_000,
  /** Heartbeat timeout of a host activity. Workers heartbeat four times as often. */
  heartbeatMs: 4_000,
  reserveMs: 10_000,
  cloneDiskMs: 120_000,
  /** Boot without a saved memory; with one, {@link hibernateMs}. */
  bootDomainMs: 60_000,
  /** Boot until lease: a stock cloud-init image under TCG needs 26 s, on a busy machine four times that. */
  awaitIpMs: 120_000,
  /** Lease until login: 17 s for a stock image under TCG. */
  verifySshMs: 90_000,
  /** Freeze, new layer, thaw; the disk itself does the copying. */
  saveSnapshotMs: 120_000,
  /** Reads the saved files once: at 100 MB/s, 60 GB take ten minutes. */
  verifySnapshotMs: 600_000,
  revertDiskMs: 120_000,
  /** Copies the changes since the source in the background: at 100 MB/s, 360 GB. */
  flattenMs: 3_600_000,
  /** Pause and resume. */
  pauseMs: 30_000,
  /** Memory to disk, and back: at 100 MB/s, 60 GB take ten minutes. */
  hibernateMs: 600_000,
  /** Probe of a member before a claim, over an existing connection. */
  greetMs: 300,
  /** Single attempt for a single layer. */
  cleanupMs: 60_000,
  /** Phases of a create shorter than this are not written by themselves, but with the next change. */
  shownAfterMs: 1_000,
  /** Delay before a cleanup is retried that Temporal does not retry. */
  cleanupPauseMs: 5_000,
  /** Delay before a bake, capture, preparation or deletion of a source is retried. */
  taskPauseMs: 2_000,
  /** Shutdown of a source: systemd gives a unit 90 s. */
  sourceStopMs: 180_000,
  /** Start of a source until its guest agent answers: a boot under TCG takes most of a minute. */
  sourceAnswersMs: 90_000,
  /** Update of a host's list of sources, which it reports every five seconds. */
  sourceListedMs: 15_000,
};
export type Timeouts = typeof DEFAULT_TIMEOUTS;

/** Error codes of steps with a specific timeout code. */
const TIMEOUT_CODES: Record<string, ErrorCode> = { awaitIp: 'ip_timeout', verifySsh: 'ssh_timeout' };

/** Returns the error code of a timed-out step. */
export function timeoutCode(step: string): ErrorCode {
  return TIMEOUT_CODES[step] ?? 'step_timeout';
}

/** Returns the message. @param seen latest progress message; may be empty */
export function timeoutMessage(step: string, seen: string): string {
  return `${step} did not end in time${seen && `; last seen: ${seen}`}`;
}
