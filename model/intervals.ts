/** How often a host worker looks at its machine while nothing happens, milliseconds. Tests shorten them. */
export interface Intervals {
  /** The host tells the store what it is and has. Well below HOST_STALE_SECONDS. */
  describeMs: number;
  /** A source's definition is read anew for that, unless the source starts or stops. */
  definitionMs: number;
  /** A look at the disk, and at what sandboxes take of it where that may have to stop one. */
  storageMs: number;
  /** What a sandbox takes is measured again while there is room and no quota: then it is for those who ask. */
  measureMs: number;
  /** A look at whether the machines of sandboxes are there, besides those that the hypervisor's events ask for. */
  machinesMs: number;
  /** Commands are looked for that nobody handed over: their API died in that very moment. */
  openCommandsMs: number;
  /** A process looks whether it does nothing, and gives back what its work has left. */
  collectMs: number;
}

export const DEFAULT_INTERVALS: Intervals = {
  describeMs: 5_000,
  definitionMs: 30_000,
  storageMs: 2_000,
  measureMs: 30_000,
  machinesMs: 2_000,
  openCommandsMs: 600_000,
  collectMs: 30_000,
};
