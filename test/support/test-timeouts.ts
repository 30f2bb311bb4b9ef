import type { Timeouts } from '../../model/sandbox/timeouts.ts';

/** What takes longer hangs, however busy the machine is. Nothing is measured by it. Milliseconds. */
export const HANGS_AFTER_MS = 200_000;
/** Less, so that a step that hangs is told by its name. Ten creates at once take more than a minute on a busy machine. */
const STEP_MS = 180_000;

/** What a step may take is long, since it only ends what hangs: a test that lets one hang shortens that step's. Pauses are short. */
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
