import type { Timeouts } from '../../model/sandbox/timeouts.ts';

/** Timeout of anything that hangs, even on a busy machine, ms; not a measurement. */
export const HANGS_AFTER_MS = 200_000;
/**
 * Shorter timeout of a step, so that a hanging one is named. Ten concurrent creates take more than a minute on a busy
 * machine.
 */
const STEP_MS = 180_000;

/** Timeouts of steps are long, and only end hanging ones: a test of a hang shortens its step's. Pauses are short. */
export const TEST_TIMEOUTS: Timeouts = {
  hostDownMs: 5_000,
  heartbeatMs: 5_000,
  reserveMs: STEP_MS,
  cloneDiskMs: STEP_MS,
  bootDomainMs: STEP_MS,
  awaitIpMs: STEP_MS,
  verifySshMs: STEP_MS,
  saveSnapshotMs: STEP_MS,
  verifySnapshotMs: STEP_MS,
  revertDiskMs: STEP_MS,
  flattenMs: STEP_MS,
  pauseMs: STEP_MS,
  hibernateMs: STEP_MS,
  greetMs: 20_000,
  cleanupMs: 20_000,
  shownAfterMs: 50,
  cleanupPauseMs: 200,
  taskPauseMs: 200,
  sourceStopMs: 20_000,
  sourceAnswersMs: 20_000,
  sourceListedMs: 20_000,
};
