/** Polling intervals of a host worker, ms. Tests shorten them. */
export const DEFAULT_INTERVALS = {
  /** Between two reports of the host to the store. Well below HOST_STALE_SECONDS. */
  describeMs: 5_000,
  /** Lifetime of a cached source definition; a start or stop of the source invalidates it. */
  definitionMs: 30_000,
  /** Between two checks of the disk, and of sandbox usage where a limit may suspend one. */
  storageMs: 2_000,
  /** Between two measurements of sandbox usage while there is free space and no quota: only for display. */
  measureMs: 30_000,
  /** Between two checks that the machines of sandboxes exist, besides those triggered by hypervisor events. */
  machinesMs: 2_000,
  /** Between two searches for commands without a workflow, whose API process died before it started one. */
  openCommandsMs: 600_000,
  /** Between two idle checks of a process; an idle one collects garbage and releases memory. */
  collectMs: 30_000,
};
export type Intervals = typeof DEFAULT_INTERVALS;
