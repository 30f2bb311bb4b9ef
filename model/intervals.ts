/** How often a host worker looks at its machine while nothing happens, milliseconds. Tests shorten them. */
export const DEFAULT_INTERVALS = {
  /** The host tells the store what it is and has. Well below HOST_STALE_SECONDS. */
  describeMs: 5_000,
  /** A source's definition is read anew for that, unless the source starts or stops. */
  definitionMs: 30_000,
  /** A look at the disk, and at what sandboxes take of it where that may have to stop one. */
  storageMs: 2_000,
  /** What a sandbox takes is measured again while there is room and no quota: then it is for those who ask. */
  measureMs: 30_000,
  /** A look at whether the machines of sandboxes are there, besides those that the hypervisor's events ask for. */
  machinesMs: 2_000,
  /** Commands are looked for that nobody handed over: their API died in that very moment. */
  openCommandsMs: 600_000,
  /** A process looks whether it does nothing, and gives back what its work has left. */
  collectMs: 30_000,
};
export type Intervals = typeof DEFAULT_INTERVALS;
