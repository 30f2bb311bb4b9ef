/** Whether residue is to be removed, and by whom. */
export interface Fixing {
  fix: boolean;
  /** A host worker serves this machine: it is asked, since nobody else may change what it counts. */
  isServed: boolean;
}
