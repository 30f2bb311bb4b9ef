import type { Timeouts } from '../../model/timeouts.ts';

/** Short enough for tests, long enough for two busy cores. */
export const TEST_TIMEOUTS: Timeouts = {
  hostDownMs: 2_000,
  heartbeatMs: 2_000,
  reserveMs: 3_000,
  cloneDiskMs: 3_000,
  bootDomainMs: 5_000,
  awaitIpMs: 5_000,
  verifySshMs: 8_000,
  saveSnapshotMs: 5_000,
  verifySnapshotMs: 5_000,
  revertDiskMs: 5_000,
  flattenMs: 10_000,
  pauseMs: 3_000,
  hibernateMs: 5_000,
  cleanupMs: 10_000,
  cleanupPauseMs: 200,
  taskPauseMs: 200,
  sourcePauseMs: 200,
};
