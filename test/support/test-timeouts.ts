import type { Timeouts } from '../../model/sandbox/timeouts.ts';

/** What takes longer hangs, however busy the machine is. Nothing is measured by it. Milliseconds. */
export const HANGS_AFTER_MS = 200_000;

/** What a step may take is long, since it only ends what hangs: a test that lets one hang shortens that step's. Pauses are short. */
export const TEST_TIMEOUTS: Timeouts = {
  hostDownMs: 5_000,
  heartbeatMs: 5_000,
  reserveMs: 180_000,
  cloneDiskMs: 180_000,
  bootDomainMs: 180_000,
  awaitIpMs: 180_000,
  verifySshMs: 180_000,
  saveSnapshotMs: 180_000,
  verifySnapshotMs: 180_000,
  revertDiskMs: 180_000,
  flattenMs: 180_000,
  pauseMs: 180_000,
  hibernateMs: 180_000,
  greetMs: 20_000,
  cleanupMs: 20_000,
  shownAfterMs: 50,
  cleanupPauseMs: 200,
  taskPauseMs: 200,
  sourcePauseMs: 200,
  sourceStopMs: 20_000,
  sourceAnswersMs: 20_000,
  sourceListedMs: 20_000,
};
