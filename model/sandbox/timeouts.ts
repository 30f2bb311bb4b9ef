import type { ErrorCode } from '../errors.ts';

/** How long each part of a saga may take, milliseconds. Arguments of the workflow, so that tests run in milliseconds. */
export const DEFAULT_TIMEOUTS = {
  /** A host activity nobody picks up for this long means that the host is down. */
  hostDownMs: 30_000,
  /** Silence of a running host activity; its worker died. Workers beat four times as often. */
  heartbeatMs: 4_000,
  reserveMs: 10_000,
  cloneDiskMs: 120_000,
  /** Of what has no saved memory to wake with; else {@link hibernateMs}. */
  bootDomainMs: 60_000,
  /** Boot until lease: a stock cloud-init image under TCG needs 26 s (facts: virtual-machines §1), a loaded machine four times that. */
  awaitIpMs: 120_000,
  /** Lease until login: 17 s for a stock image under TCG. */
  verifySshMs: 90_000,
  /** Freezing, a new layer, unfreezing; what is copied is the work of the disk. */
  saveSnapshotMs: 120_000,
  /** Reads what was saved once: at 100 MB/s a layer of 60 GB takes ten minutes. */
  verifySnapshotMs: 600_000,
  revertDiskMs: 120_000,
  /** Copies what a sandbox has written since its source, in the background: at 100 MB/s 360 GB. */
  flattenMs: 3_600_000,
  /** Pause, and resume. */
  pauseMs: 30_000,
  /** Memory to disk, and back: at 100 MB/s a guest of 60 GB takes ten minutes. */
  hibernateMs: 600_000,
  /** A member's answer to its host before it is claimed: it has its connection already. */
  greetMs: 300,
  /** One attempt of one cleanup layer. */
  cleanupMs: 60_000,
  /** A step of a create that is over before is told with the next change, and shown by itself to nobody. */
  shownAfterMs: 1_000,
  /** Pause before a cleanup is tried again that Temporal does not repeat by itself. */
  cleanupPauseMs: 5_000,
  /** The same of a task: a bake, a capture, a source that is prepared or deleted. */
  taskPauseMs: 2_000,
  /** A source that is told to shut down: systemd gives a unit 90 s. */
  sourceStopMs: 180_000,
  /** From a source's start until its guest agent answers: a boot under TCG is most of a minute. */
  sourceAnswersMs: 90_000,
  /** A host says what its sources are every five seconds. */
  sourceListedMs: 15_000,
};
export type Timeouts = typeof DEFAULT_TIMEOUTS;

/** What a step's time-out means to the caller, where it has a name of its own. */
const TIMEOUT_CODES: Record<string, ErrorCode> = { awaitIp: 'ip_timeout', verifySsh: 'ssh_timeout' };

/** The code of a step that did not end in time. */
export function timeoutCode(step: string): ErrorCode {
  return TIMEOUT_CODES[step] ?? 'step_timeout';
}

/** The words for it. @param seen the last that it said of itself; empty: nothing */
export function timeoutMessage(step: string, seen: string): string {
  return `${step} did not end in time${seen && `; last seen: ${seen}`}`;
}
